package session

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/dezren39/mcpx/pkg/capsule"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Source is where a host's lines come from. *capsule.Capsule is one that
// outlives the daemon.
type Source interface {
	// Next returns the next line; what it holds is valid until the next call.
	Next() (capsule.Line, error)
	// Done closes a line: what it asked for has been answered, and the answer
	// has been written.
	Done(mark int64)
}

// Writer is where the lines for a host go. *stdio.Writer is one for a host that
// reads a stream.
type Writer interface {
	// Write takes whole lines and never blocks; stdio.ErrFull when they do not fit.
	Write(lines []byte) error
	// Queued is the number of bytes that wait for the host.
	Queued() int
	// Drained returns a channel that is closed once nothing waits.
	Drained() <-chan struct{}
	// Done is closed when the host reads nothing any more.
	Done() <-chan struct{}
	// Position is how many bytes have been taken and how many of them written.
	Position() (taken, written uint64)
	// OnWritten has f told how many bytes have been written in all, each time some
	// of those that had to wait are.
	OnWritten(f func(total uint64))
}

// Stream is a source that nothing outlives.
func Stream(r io.Reader) Source { return stream{stdio.NewReader(r, 0)} }

type stream struct{ r *stdio.Reader }

func (s stream) Next() (capsule.Line, error) {
	line, err := s.r.Next()
	return capsule.Line{Bytes: line}, err
}

func (stream) Done(int64) {}

// message is one message of the host's.
type message struct {
	wire.Envelope
	mark     int64 // of its line; 0 in a batch, whose line is closed by its last answer
	replayed bool  // a daemon that is gone may have handed it on

	// Under a roof: whose it is, what that server calls what it names, and what
	// is sent in place of the host's names.
	server, item string
	edits        []wire.Edit
}

// line handles one line of the host.
func (c *Conn) line(l capsule.Line) {
	if wire.IsBatch(l.Bytes) {
		c.batch(l)
		return
	}
	env, err := wire.Scan(l.Bytes)
	if err != nil {
		if bad, ok := errors.AsType[*wire.ScanError](err); ok && answerable(bad) {
			c.send(refusal(bad))
		}
		c.dealt(l.Mark)
		return
	}
	c.message(&message{Envelope: env, mark: l.Mark, replayed: l.Replayed})
}

// answerable reports whether a refused line is answered. A notification or a
// response never is.
func answerable(bad *wire.ScanError) bool {
	return bad.ID != nil || bad.NoID || bad.Code == wire.CodeParse
}

// message routes one message. What it hands on outlives the line only as a copy.
func (c *Conn) message(m *message) {
	switch m.Kind {
	case wire.Result, wire.Error:
		c.answered(&m.Envelope)
		c.dealt(m.mark)
	case wire.Notification:
		if !c.notification(m) {
			c.dealt(m.mark)
		}
	case wire.Request:
		c.request(m)
	}
}

// dealt closes a line of the source once all that was sent before is written:
// what a slow host has not got yet, the next daemon has to answer. A connection
// that has been closed answers nothing any more, so its lines stay open.
func (c *Conn) dealt(mark int64) {
	if mark == 0 || c.life.Err() != nil {
		return
	}
	taken, written := c.out.Position()
	if written >= taken {
		c.source.Done(mark)
		return
	}
	c.mu.Lock()
	c.unsettled = append(c.unsettled, debt{mark, taken})
	c.mu.Unlock()
	_, written = c.out.Position() // it may all be written by now
	c.wrote(written)
}

// debt is a line whose answer is not written yet: it is once the writer has
// come as far as upTo.
type debt struct {
	mark int64
	upTo uint64
}

// wrote closes the lines whose answers the host has.
func (c *Conn) wrote(total uint64) {
	if c.life.Err() != nil {
		return
	}
	var paid []int64
	c.mu.Lock()
	c.unsettled = slices.DeleteFunc(c.unsettled, func(d debt) bool {
		if d.upTo > total {
			return false
		}
		paid = append(paid, d.mark)
		return true
	})
	c.mu.Unlock()
	for _, mark := range paid {
		c.source.Done(mark)
	}
}

// clone is a message on a line of its own.
func (m *message) clone() message {
	own := *m
	own.Line = bytes.Clone(m.Line)
	return own
}
