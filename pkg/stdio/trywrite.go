package stdio

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWrite writes to a descriptor as far as that goes without blocking. The
// function handed to the descriptor is made once, so that a write allocates
// nothing; its arguments travel in the fields.
type tryWrite struct {
	raw syscall.RawConn // nil when w can only be written by blocking
	fn  func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

func (t *tryWrite) init(w io.Writer) {
	t.raw, t.fn = rawConn(w), t.once
}

func (t *tryWrite) write(b []byte) (int, error) {
	if t.raw == nil {
		return 0, nil
	}
	t.b, t.n, t.err = b, 0, nil
	err := t.raw.Write(t.fn)
	t.b = nil
	if err == nil {
		err = t.err
	}
	return t.n, err
}

// once is true always: the poller must not wait for room.
func (t *tryWrite) once(fd uintptr) bool {
	if t.n, t.err = rawWrite(fd, t.b); t.err == syscall.EAGAIN {
		t.err = nil
	}
	return true
}

// rawConn is the descriptor of a stream; nil when it has none, or one in
// blocking mode.
func rawConn(stream any) syscall.RawConn {
	conn, ok := stream.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil || !nonBlocking(raw) {
		return nil
	}
	return raw
}

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
