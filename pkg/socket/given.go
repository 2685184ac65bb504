package socket

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Take makes a listener that systemd passed to us one of the sockets. It must
// listen where callers look, and be closed to others; accepted connections are
// checked as those of Listen are (threat T16). Closing it stops only us:
// whoever connects meanwhile is kept waiting by systemd, for the next daemon.
func (r *Runtime) Take(name string, given net.Listener) (net.Listener, error) {
	ul, ok := given.(*net.UnixListener)
	if !ok {
		return nil, &fault{
			msg:  fmt.Sprintf("the socket that systemd passed for %s is not a unix stream socket", name),
			hint: "in its .socket unit: ListenStream=" + r.file(name),
		}
	}
	ul.SetUnlinkOnClose(false)
	here, err := os.Lstat(r.file(name))
	there, terr := os.Lstat(ul.Addr().String())
	if err != nil || terr != nil || !os.SameFile(here, there) {
		return nil, &fault{
			msg:  fmt.Sprintf("the socket that systemd passed for %s listens on %s, and callers look at %s", name, ul.Addr(), r.file(name)),
			hint: "in its .socket unit: ListenStream=" + r.file(name) + ", or name the directory with MCPX_RUNTIME_DIR everywhere",
		}
	}
	if here.Mode().Perm()&0o077 != 0 {
		return nil, &fault{
			msg:  fmt.Sprintf("the socket that systemd passed for %s is open to other users (mode %04o)", name, here.Mode().Perm()),
			hint: "in its .socket unit: SocketMode=0600",
		}
	}
	st, err := r.lookup(name)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, notSocket(r.file(name), here.Mode().Type())
	}
	return &listener{UnixListener: ul, r: r, name: name, inode: inodeOf(st), given: true, close: ul.Close}, nil
}
