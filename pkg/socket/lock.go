package socket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The lock files stay where they are: one that is removed is a lock that two
// can hold.
const (
	daemonLock = "daemon.lock"
	startLock  = "start.lock"
)

// LockDaemon takes daemon.lock for the life of the process; held=false when
// another has it (design D13).
func (r *Runtime) LockDaemon() (unlock func(), held bool, err error) {
	f, err := r.tryLock(daemonLock)
	if f == nil {
		return nil, false, err
	}
	r.daemonLock.Store(true)
	return sync.OnceFunc(func() {
		r.daemonLock.Store(false)
		f.Close()
	}), true, nil
}

// LockStart takes start.lock, waiting until ctx ends.
func (r *Runtime) LockStart(ctx context.Context) (unlock func(), err error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		f, err := r.tryLock(startLock)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return sync.OnceFunc(func() { f.Close() }), nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, &fault{
				msg:  fmt.Sprintf("%s is held by another mcpx that starts the daemon", r.file(startLock)),
				hint: "see the daemon's log, or run it in the foreground: mcpx daemon",
				err:  context.Cause(ctx),
			}
		}
	}
}

// tryLock is nil without an error when another holds the lock. Closing the file
// lets go of it; a process that dies does so too.
func (r *Runtime) tryLock(name string) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Openat(r.fd(), name, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", r.file(name), err)
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return os.NewFile(uintptr(fd), r.file(name)), nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", r.file(name), err)
}
