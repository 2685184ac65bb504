package socket

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// CheckStdio holds three received files against threat T17: a stdin that can be
// read, a stdout that can be written, each Passable, and a capsule.
func CheckStdio(files []*os.File) error {
	if len(files) != 3 {
		return fmt.Errorf("%d descriptors, not stdin, stdout and capsule", len(files))
	}
	if err := passable(files[0], unix.O_WRONLY); err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	if err := passable(files[1], unix.O_RDONLY); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return CheckCapsule(files[2])
}

// Passable reports whether a daemon takes the file as a host's stdin or stdout:
// a pipe, or one end of a socket pair, as Node hosts use (hosts §4). Anything
// else shares its O_NONBLOCK with strangers (a terminal, with the shell), cannot
// be waited for (a file), or is not the host's (a named or TCP socket).
func Passable(f *os.File) bool { return passable(f, -1) == nil }

// passable refuses a file of another kind, or of exactly this access mode.
func passable(f *os.File, refused int) error {
	return onDescriptor(f, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		switch m := fileMode(uint32(st.Mode)); m {
		case os.ModeNamedPipe:
		case os.ModeSocket:
			if !socketPair(fd) {
				return errors.New("a socket, but not one of a local pair")
			}
		default:
			return fmt.Errorf("%s, not a pipe or a local socket pair", kind(m))
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil && flags&unix.O_ACCMODE == refused {
			return errors.New("open in the wrong direction")
		}
		return err
	})
}

// socketPair is a connected local stream socket, neither end of which has a
// name. Our own sockets have one.
func socketPair(fd int) bool {
	typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || typ != unix.SOCK_STREAM {
		return false
	}
	own, err := unix.Getsockname(fd)
	if err != nil || !unnamed(own) {
		return false
	}
	other, err := unix.Getpeername(fd)
	return err == nil && unnamed(other)
}

// unnamed knows both spellings: Linux's empty name comes back as an abstract one.
func unnamed(a unix.Sockaddr) bool {
	u, ok := a.(*unix.SockaddrUnix)
	return ok && (u.Name == "" || u.Name == "@")
}
