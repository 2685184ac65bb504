package shim

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/socket"
)

// end is one of the host's two descriptors and what the daemon gets for it: the
// descriptor itself, or a pipe of our own that we copy to or from. The daemon
// knows only the first case.
//
// We keep the host's descriptor open while we sleep: it outlives a daemon in our
// hands, and its flags are restored on it. The host does not notice, since we
// exit as soon as the daemon is done with it.
type end struct {
	host   *os.File
	handed *os.File
	flags  int      // of host, before the daemon could set O_NONBLOCK on it
	own    *os.File // our end of our pipe; nil when host itself is handed over
	copied chan struct{}
	copy   func()
}

func newInput(host *os.File) (*end, error) {
	e, err := newEnd("stdin", host)
	if err != nil || e.handed != nil {
		return e, err
	}
	if e.handed, e.own, err = os.Pipe(); err != nil {
		return nil, err
	}
	e.copy = func() {
		io.Copy(e.own, host) // an error is an end, of one side or the other
		e.own.Close()
	}
	return e, nil
}

func newOutput(host *os.File) (*end, error) {
	e, err := newEnd("stdout", host)
	if err != nil || e.handed != nil {
		return e, err
	}
	if e.own, e.handed, err = os.Pipe(); err != nil {
		return nil, err
	}
	e.copy = func() {
		io.Copy(host, e.own)
		e.own.Close()
		close(e.copied)
	}
	return e, nil
}

// newEnd leaves handed nil for a descriptor that needs a pipe.
func newEnd(name string, host *os.File) (*end, error) {
	e := &end{host: host, copied: make(chan struct{})}
	flags, err := fcntl(host, unix.F_GETFL, 0)
	if err != nil {
		return nil, &fault{
			msg:  fmt.Sprintf("%s: %v", name, err),
			hint: "a host starts this command and speaks to it; it needs stdin and stdout",
			err:  err,
		}
	}
	e.flags = flags
	if socket.Passable(host) {
		e.handed = host
	}
	return e, nil
}

// start is called once the daemon holds the descriptor. The copying ends with
// the process at the latest: a read from a terminal cannot be called off. We
// keep what we handed over, for the next daemon.
func (e *end) start() {
	if e.own == nil {
		close(e.copied)
		return
	}
	go e.copy()
}

// wait returns when all that daemons wrote is with the host.
func (e *end) wait(ctx context.Context) {
	if e.own != nil {
		e.handed.Close()
	}
	select {
	case <-e.copied:
	case <-ctx.Done():
	}
}

// release gives the host's descriptor the flags it had, which of a socket the
// daemon shares with us and with whoever started us, and closes our own pipe.
func (e *end) release() {
	if e.own == nil {
		fcntl(e.host, unix.F_SETFL, e.flags)
		return
	}
	e.handed.Close()
	e.own.Close()
}

// fcntl leaves the file in the mode it is in, unlike its Fd method.
func fcntl(f *os.File, cmd, arg int) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var got int
	var ferr error
	if err := raw.Control(func(fd uintptr) { got, ferr = unix.FcntlInt(fd, cmd, arg) }); err != nil {
		return 0, err
	}
	return got, ferr
}
