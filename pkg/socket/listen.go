package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// listener accepts from our own user only, and removes its socket when it
// closes, if it made it and the socket still is its own.
type listener struct {
	*net.UnixListener
	r     *Runtime
	name  string
	inode inode
	given bool         // systemd's, which made it and will listen on it again
	close func() error // once
}

// inode is a file's identity.
type inode struct{ dev, ino uint64 }

// Listen binds one of the sockets, 0600 from its first instant. What stands
// there and is no socket is refused; a socket that nobody listens on is removed,
// and only by a caller that holds the daemon lock through this Runtime. Paths
// too long for a socket work too, on Linux. Accepted connections are
// *net.UnixConn, from our own user; others are closed before a byte is read or
// written (threat T16). Closing the listener removes the socket.
func (r *Runtime) Listen(name string) (net.Listener, error) {
	if err := r.clear(name); err != nil {
		return nil, err
	}
	addr, err := r.address(name)
	if err != nil {
		return nil, err
	}
	ul, err := bindPrivate(addr)
	if err != nil {
		errno, ok := errors.AsType[syscall.Errno](err)
		if ok {
			err = errno
		}
		return nil, fmt.Errorf("listen on %s: %w", r.file(name), err)
	}
	ul.SetUnlinkOnClose(false) // it would unlink by the path, whoever's that is by then
	st, err := r.lookup(name)
	if err == nil && st.Mode&0o777 != 0o600 {
		err = fmt.Errorf("its mode is %04o, not 0600", st.Mode&0o777)
	}
	if err != nil {
		ul.Close()
		return nil, fmt.Errorf("listen on %s: %w", r.file(name), err)
	}
	l := &listener{UnixListener: ul, r: r, name: name, inode: inodeOf(st)}
	l.close = sync.OnceValue(func() error {
		l.remove()
		return ul.Close()
	})
	return l, nil
}

// clear makes room for a socket.
func (r *Runtime) clear(name string) error {
	c, err := r.connect(name)
	switch {
	case err == nil:
		c.Close()
		return fmt.Errorf("%s is answered by another program", r.file(name))
	case !errors.Is(err, ErrNoDaemon):
		return err
	}
	if _, err := r.lookup(name); err == unix.ENOENT {
		return nil
	}
	if !r.daemonLock.Load() {
		return fmt.Errorf("%s is left over, and only the holder of the daemon lock may remove it", r.file(name))
	}
	if err := unix.Unlinkat(r.fd(), name, 0); err != nil && err != unix.ENOENT {
		return fmt.Errorf("%s is left over and cannot be removed: %w", r.file(name), err)
	}
	return nil
}

// Accept returns the next connection of our own user.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if p, err := l.r.peer(c); err == nil && p.UID == l.r.uid {
			return c, nil
		}
		c.Close()
	}
}

// Close stops listening and removes the socket. Further calls do nothing.
func (l *listener) Close() error { return l.close() }

// remove unlinks the socket in the held directory. The inode cannot have been
// given to another file: the bound socket keeps it.
func (l *listener) remove() {
	if st, err := l.r.lookup(l.name); err == nil && inodeOf(st) == l.inode {
		unix.Unlinkat(l.r.fd(), l.name, 0)
	}
}

// Owned reports whether the path of the socket still is the one that l, of
// Listen, is bound to. It goes by the path, not by the held directory, since
// callers do (design D13). A listener of Take is not ours to judge.
func (r *Runtime) Owned(name string, l net.Listener) bool {
	own, ok := l.(*listener)
	if !ok {
		return false
	}
	if own.given {
		return true
	}
	info, err := os.Lstat(r.file(name))
	if err != nil {
		return false
	}
	st := info.Sys().(*syscall.Stat_t)
	return inode{uint64(st.Dev), uint64(st.Ino)} == own.inode
}

func inodeOf(st unix.Stat_t) inode { return inode{uint64(st.Dev), uint64(st.Ino)} }

func listenUnix(addr string, control func(network, address string, c syscall.RawConn) error) (*net.UnixListener, error) {
	lc := net.ListenConfig{Control: control}
	l, err := lc.Listen(context.Background(), "unix", addr)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}
