package daemon

import (
	"context"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/proc"
)

// orphanGrace is how long an orphan has between TERM and KILL.
const orphanGrace = time.Second

// orphaned decides whether a process with this mark is a child of a daemon that
// is gone: of this runtime directory, whose lock this daemon holds, and not of
// this daemon. Pure.
func orphaned(mark, own string) bool {
	runtime, _, _ := strings.Cut(own, ".")
	return strings.HasPrefix(mark, runtime+".") && !strings.HasPrefix(mark, own+".")
}

// endOrphans ends what a daemon before left running because it was killed:
// servers that ignore the end of their input (design D16).
func (d *Daemon) endOrphans(ctx context.Context, own string) {
	left := proc.Marked(func(mark string) bool { return orphaned(mark, own) })
	for _, p := range left {
		_ = p.Signal(syscall.SIGTERM)
	}
	for until := time.Now().Add(orphanGrace); alive(left) && time.Now().Before(until) && ctx.Err() == nil; {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	for _, p := range left {
		_ = p.Signal(syscall.SIGKILL)
		d.o.Log.Info("ended orphan", "pid", p.PID)
	}
}

func alive(all []proc.Member) bool {
	for _, p := range all {
		if p.Alive() {
			return true
		}
	}
	return false
}

// after has get wait until done is closed: no server starts beside the orphan of
// one that may hold the same file, port or profile.
func after(done <-chan struct{}, get func(context.Context) ([]string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		select {
		case <-done:
			return get(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
