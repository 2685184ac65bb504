package socket

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// bindPrivate binds a socket that is 0600 from its first instant. Linux gives
// the file the mode of the unbound socket, so no umask is needed, which would
// be the whole process's while it lasts: directories made and programs started
// by others in that moment would get it too.
func bindPrivate(addr string) (*net.UnixListener, error) {
	return listenUnix(addr, func(_, _ string, c syscall.RawConn) error {
		var merr error
		err := c.Control(func(fd uintptr) { merr = unix.Fchmod(int(fd), 0o600) })
		if err != nil {
			return err
		}
		return merr
	})
}
