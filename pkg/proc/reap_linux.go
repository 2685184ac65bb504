package proc

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// Subreap makes this process the parent of every orphan below it, and reaps
// those when they end, until ctx does. wait returns when the reaper is done.
//
// It never waits for "any child": that takes the exit status from the exec.Cmd
// whose Wait is about to ask for it (design D16).
func Subreap(ctx context.Context) (wait func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("child subreaper: %w", err)
	}
	died := make(chan os.Signal, 1) // one is enough: each sweep sees all the dead
	signal.Notify(died, unix.SIGCHLD)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer signal.Stop(died)
		for {
			ours.reapOthers()
			select {
			case <-died:
			case <-ctx.Done():
				return
			}
		}
	})
	return wg.Wait, nil
}

// reapOthers waits, by pid and without blocking, for the dead children that
// Start did not start.
func (c *children) reapOthers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	self := os.Getpid()
	for _, e := range list() {
		if e.parent == self && e.dead && !c.has(e.PID) {
			_, _ = unix.Wait4(e.PID, nil, unix.WNOHANG, nil)
		}
	}
}

// sealDescriptors closes at exec every descriptor above 2. Go opens its own so;
// those inherited from whoever started this process may lack it. Kernels before
// 5.11 do not know the call, and then there is only Go's own care.
func sealDescriptors() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}
