// Package proc knows processes: who a caller descends from, when a process
// began, where it stands; and it starts every process mcpx starts (design D16).
// Where a system cannot be asked, the answer is the honest "unknown" that each
// function names, never a guess.
package proc

import "os"

// ID names a process for good: pids are recycled, start times are not.
type ID struct {
	PID   int
	Start uint64 // Linux: clock ticks since boot; macOS: microseconds since 1970; 0: unknown
}

// Info is one process in a chain of ancestors.
type Info struct {
	ID
	UID  int
	Argv []string
}

// entry is what the system's process table says of one process.
type entry struct {
	ID
	parent, group int
	dead          bool // a zombie: it runs no more and waits to be reaped
}

// StartTime is the start of pid, 0 and false when it is gone or unknown here.
func StartTime(pid int) (uint64, bool) {
	e, ok := look(pid)
	return e.Start, ok
}

// Alive reports whether exactly this process still runs (a zombie does not).
func (id ID) Alive() bool {
	e, ok := look(id.PID)
	return ok && e.ID == id && !e.dead
}

// Signal signals exactly this process: one that has its pid by now but began at
// another time is not touched (threat T40), and the error is
// os.ErrProcessDone, as for a process that is gone.
func (id ID) Signal(sig os.Signal) error {
	// On Linux the handle is a pidfd, so what is checked below is what is signalled.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if start, ok := StartTime(id.PID); !ok || start != id.Start {
		return os.ErrProcessDone
	}
	return p.Signal(sig)
}

// Ancestors are pid's parent, its parent, … : at most max, nearest first, the
// same user's only, and never pid 1. The chain ends at the first process of
// another user (sudo, a login): what lies beyond is not ours to judge.
func Ancestors(pid, max int) []Info {
	e, ok := look(pid)
	uid, known := owner(pid)
	if !ok || !known {
		return nil
	}
	var chain []Info
	for len(chain) < max && e.parent > 1 {
		if e, ok = look(e.parent); !ok {
			break
		}
		if u, known := owner(e.PID); !known || u != uid {
			break
		}
		chain = append(chain, Info{ID: e.ID, UID: uid, Argv: argv(e.PID)})
	}
	return chain
}
