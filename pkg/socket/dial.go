package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Dial connects to one of the sockets and checks that our own user answers
// (threat T16). A socket that is not there or refuses is ErrNoDaemon; one that
// is merely slow is not (report L2).
func (r *Runtime) Dial(name string) (*net.UnixConn, error) {
	c, err := r.connect(name)
	if err != nil {
		return nil, err
	}
	p, err := r.peer(c)
	if err == nil && p.UID != r.uid {
		err = &fault{
			msg:  fmt.Sprintf("%s is answered by uid %d, not by yours (%d)", r.file(name), p.UID, r.uid),
			hint: "nothing was sent to it; " + runtimeHint,
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Look says what is wrong with a socket's place, and dials nothing: what stands
// there and is no socket bars the way of daemon and callers; nothing at all is
// ErrNoDaemon.
func (r *Runtime) Look(name string) error {
	path := r.file(name)
	st, err := r.lookup(name)
	switch {
	case err == unix.ENOENT:
		return noDaemon(path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	if m := fileMode(uint32(st.Mode)); m != os.ModeSocket {
		return notSocket(path, m)
	}
	return nil
}

// connect dials without asking who answers.
func (r *Runtime) connect(name string) (*net.UnixConn, error) {
	path := r.file(name)
	if err := r.Look(name); err != nil {
		return nil, err
	}
	addr, err := r.address(name)
	if err != nil {
		return nil, err
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: addr, Net: "unix"})
	if err != nil {
		return nil, dialFault(path, err)
	}
	return c, nil
}

// dialFault names what a failed connect means to a person.
func dialFault(path string, err error) error {
	errno, _ := errors.AsType[syscall.Errno](err)
	switch errno {
	case syscall.ECONNREFUSED, syscall.ENOENT:
		return noDaemon(path)
	case syscall.EPERM, syscall.EACCES:
		return &fault{
			msg:  fmt.Sprintf("connect to %s: %v: a sandbox forbids it", path, errno),
			hint: "allow this program to connect to that unix socket in the sandbox's settings",
			err:  errno,
		}
	case 0:
		return fmt.Errorf("connect to %s: %w", path, err)
	}
	return fmt.Errorf("connect to %s: %w", path, errno)
}

// fileMode is the type in a kernel's mode word.
func fileMode(mode uint32) os.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return os.ModeDir
	case unix.S_IFLNK:
		return os.ModeSymlink
	case unix.S_IFSOCK:
		return os.ModeSocket
	case unix.S_IFIFO:
		return os.ModeNamedPipe
	}
	return os.ModeDevice
}
