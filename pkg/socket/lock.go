package socket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
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

// LockDaemon takes daemon.lock for the life of the process, and writes its pid
// there; held=false when another has it (design D13). Only daemons call it:
// everyone else asks Daemon.
func (r *Runtime) LockDaemon() (unlock func(), held bool, err error) {
	f, err := r.tryLock(daemonLock)
	// Whoever asks Daemon holds it for an instant, which is no daemon.
	for until := time.Now().Add(time.Second); f == nil && err == nil && time.Now().Before(until); {
		if _, running, err := r.Daemon(); running || err != nil {
			return nil, false, err
		}
		time.Sleep(100 * time.Microsecond)
		f, err = r.tryLock(daemonLock)
	}
	if f == nil {
		return nil, false, err
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, false, err
	}
	r.daemonLock.Store(true)
	return sync.OnceFunc(func() {
		r.daemonLock.Store(false)
		f.Close()
	}), true, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("lock %w", err)
	}
	if _, err := f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0); err != nil {
		return fmt.Errorf("lock %w", err)
	}
	return nil
}

// Daemon is the process that holds daemon.lock, with pid 0 if it has not said
// which it is yet. It is how to ask for a daemon without a dial, which would
// have systemd start one on a socket that systemd listens on, and without
// standing in the way of one that starts.
func (r *Runtime) Daemon() (pid int, running bool, err error) {
	fd, err := unix.Openat(r.fd(), daemonLock, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("lock %s: %w", r.file(daemonLock), err)
	}
	defer unix.Close(fd)
	err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return 0, false, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false, fmt.Errorf("lock %s: %w", r.file(daemonLock), err)
	}
	text := make([]byte, 20)
	n, err := unix.Pread(fd, text, 0)
	if err != nil {
		return 0, true, fmt.Errorf("lock %s: %w", r.file(daemonLock), err)
	}
	pid, _ = strconv.Atoi(string(text[:n]))
	return pid, true, nil
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
