package stdio

import (
	"io"
	"syscall"
)

// Direct returns a reader of r's descriptor that waits as r does and otherwise
// leaves the runtime alone (see rawRead). It returns r itself when that has no
// descriptor, or one in blocking mode. It is for one goroutine.
func Direct(r io.Reader) io.Reader {
	conn := rawConn(r)
	if conn == nil {
		return r
	}
	d := &direct{conn: conn}
	d.fn = d.once
	return d
}

// direct holds the arguments of one read in its fields, so that the function
// handed to the descriptor is made once and a read allocates nothing.
type direct struct {
	conn syscall.RawConn
	fn   func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

func (d *direct) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	d.b, d.n, d.err = b, 0, nil
	err := d.conn.Read(d.fn)
	d.b = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}

// once is false when the poller is to wait for more.
func (d *direct) once(fd uintptr) bool {
	d.n, d.err = rawRead(fd, d.b)
	switch {
	case d.err == syscall.EAGAIN:
		d.err = nil
		return false
	case d.err == nil && d.n == 0:
		d.err = io.EOF
	}
	return true
}
