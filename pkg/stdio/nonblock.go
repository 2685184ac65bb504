package stdio

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// nonBlocking reports whether the descriptor is in non-blocking mode. One that
// is not would stop the caller, and is left to the goroutine.
func nonBlocking(raw syscall.RawConn) bool {
	var flags int
	var flagsErr error
	err := raw.Control(func(fd uintptr) {
		flags, flagsErr = unix.FcntlInt(fd, unix.F_GETFL, 0)
	})
	return err == nil && flagsErr == nil && flags&unix.O_NONBLOCK != 0
}
