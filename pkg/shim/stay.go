package shim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/socket"
)

// stay is what a shim does for nearly all of its life: it sleeps while a daemon
// has the host, and when that daemon is gone it hands the host to the next one.
// It returns when a daemon says that the host is done.
func (l *link) stay(ctx context.Context) (int, error) {
	for {
		orderly, err := l.sleep()
		if err == nil {
			err = l.again(ctx, orderly)
		}
		if code, ok := errors.AsType[exit](err); ok {
			return int(code), nil
		}
		if err != nil {
			return 1, err
		}
	}
}

// sleep returns when the daemon is gone, in good order or not, or with the exit
// code that it gives.
func (l *link) sleep() (orderly bool, err error) {
	for {
		line, err := l.next()
		switch {
		case line.Drain:
			return true, nil
		case gone(err) == errGone:
			return false, nil
		case err != nil:
			return false, err
		case line.End != nil:
			return false, exit(*line.End)
		}
	}
}

// slowest is the longest wait between two attempts to reach a daemon.
const slowest = 5 * time.Second

// again hands the host to the next daemon, however long that takes: three of
// four hosts never start a server again that has ended (design D8). After a
// death somebody may wait for an answer, so a daemon is started. After a daemon
// that left in good order one is only looked for, until the host says something.
func (l *link) again(ctx context.Context, orderly bool) error {
	told := false
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, slowest) {
		start := !orderly || socket.OpenLines(l.capsule) > 0
		if !start {
			said, over := l.hostSays(0)
			if over {
				return exit(0)
			}
			start = said
		}
		err := l.attach(ctx, start)
		if _, end := errors.AsType[exit](err); err == nil || end || ctx.Err() != nil {
			return err
		}
		if !start && (errors.Is(err, socket.ErrNoDaemon) || errors.Is(err, errGone)) {
			l.hostSays(time.Second)
			wait = 0
			continue
		}
		if !told {
			told = true
			fmt.Fprintf(l.o.Stderr, "mcpx: %v\n   hint: this connection stays open and tries again\n", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hostSays waits until the host has written something, or is over: its end of
// our input is closed and nothing is left in it.
func (l *link) hostSays(limit time.Duration) (said, over bool) {
	raw, err := l.in.SyscallConn()
	if err != nil {
		return false, true
	}
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(limit.Milliseconds())); n <= 0 || err != nil {
			return // a signal, or nothing; we are called again
		}
		said = fds[0].Revents&unix.POLLIN != 0
		over = !said && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return said, over
}
