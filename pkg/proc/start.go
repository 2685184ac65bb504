package proc

import (
	"os/exec"
	"sync"
)

// ours mirrors the kernel's table of this process's children, of which there is
// one per process too: that is why it may be a variable of the package.
var ours children

// children are the processes that Start started and that were not seen gone.
type children struct {
	mu      sync.Mutex     // held while a process starts, and while the reaper waits
	started map[int]uint64 // pid to start time
}

// Start starts cmd. Every process of the program starts here, so that the
// reaper of adopted grandchildren can tell ours from others (design D16), and
// so that each gets no descriptor but those cmd gives it (threat T15). The
// caller waits for it with cmd.Wait.
func Start(cmd *exec.Cmd) error {
	ours.mu.Lock()
	defer ours.mu.Unlock()
	sealDescriptors()
	if err := cmd.Start(); err != nil {
		return err
	}
	ours.forgetGone()
	if ours.started == nil {
		ours.started = map[int]uint64{}
	}
	// Nobody has waited for it yet, so it is in the table even if it is dead.
	ours.started[cmd.Process.Pid], _ = StartTime(cmd.Process.Pid)
	return nil
}

// has reports whether Start started the process that has pid now. Needs mu held.
func (c *children) has(pid int) bool {
	start, ok := c.started[pid]
	if !ok {
		return false
	}
	now, known := StartTime(pid)
	return known && now == start
}

// forgetGone needs mu held. It keeps the table as small as what runs.
func (c *children) forgetGone() {
	for pid := range c.started {
		if !c.has(pid) {
			delete(c.started, pid)
		}
	}
}
