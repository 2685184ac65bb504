package upstream

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Desk is where the lines of one server arrive, by whatever way: what it may ask
// of mcpx itself is answered, lines that are no messages are counted (design
// D7), the rest is handed on. An answer that cannot be passed on, since it is
// broken or too long, becomes an error for its id.
type Desk struct {
	Server string
	Log    *slog.Logger
	Write  func(lines []byte) error // to the server; it must not block
	Roots  func() []byte            // the result of roots/list; nil when it was not offered
	CutOff func() bool              // the last line was cut off by the server's end; nil: never

	env   wire.Envelope // of the line at hand: here, so that a line allocates nothing
	noise noise
}

// Noise counts lines that were not messages.
func (d *Desk) Noise() int64 { return d.noise.count() }

// NoiseLines are the last of them, shortened, for status; mask hides secrets.
func (d *Desk) NoiseLines(mask func(string) string) []string { return d.noise.last(mask) }

// Line takes a line in and hands its messages on. One caller at a time.
func (d *Desk) Line(line []byte, handle func(*wire.Envelope)) {
	env, err := wire.Scan(line)
	if err == nil {
		d.env = env
		d.serveOne(&d.env, handle)
		return
	}
	for env := range d.batch(line, handle) {
		d.serveOne(env, handle)
	}
}

// serveOne answers a message or hands it on.
func (d *Desk) serveOne(env *wire.Envelope, handle func(*wire.Envelope)) {
	if env.Kind != wire.Request || !d.Answer(env) {
		handle(env)
	}
}

// Messages yields what a line holds: usually one message, or those of a batch,
// which no server should send and some do.
func (d *Desk) Messages(line []byte) iter.Seq[*wire.Envelope] {
	env, err := wire.Scan(line)
	if err != nil {
		return d.batch(line, nil)
	}
	return func(yield func(*wire.Envelope) bool) { yield(&env) }
}

// batch yields the messages of a line that Scan refused. What is none is noise;
// broken is called with an error in place of an answer that is broken.
func (d *Desk) batch(line []byte, broken func(*wire.Envelope)) iter.Seq[*wire.Envelope] {
	return func(yield func(*wire.Envelope) bool) {
		elements := [][]byte{line}
		if wire.IsBatch(line) {
			if all, err := wire.Batch(line); err == nil {
				elements = all
			}
		}
		for _, element := range elements {
			env, err := wire.Scan(element)
			if err != nil {
				d.refused(element, err, broken)
			} else if !yield(&env) {
				return
			}
		}
	}
}

// refused counts a line that is no message. Whoever waits for the answer that
// it meant to be is told; of one that the server's end cut off, the end tells.
func (d *Desk) refused(line []byte, err error, broken func(*wire.Envelope)) {
	if d.noise.add(line) {
		d.Log.Warn("dropped a line that is no message", "server", d.Server, "err", err)
	}
	if broken == nil || d.CutOff != nil && d.CutOff() {
		return
	}
	if bad, ok := errors.AsType[*wire.ScanError](err); ok && bad.ResponseID != nil {
		d.Substitute(bad.ResponseID, "the server's answer is not valid: "+bad.Msg, broken)
	}
}

// TooLong tells whoever waits for an answer over the cap, or asked too long a
// question.
func (d *Desk) TooLong(long *stdio.TooLong, handle func(*wire.Envelope)) {
	id, kind, ok := wire.PeekID(long.Head, long.Tail)
	msg := fmt.Sprintf("the server's message of %d bytes is over the limit of %d", long.Size, stdio.MaxLine)
	switch {
	case ok && kind == wire.Request:
		_ = d.Write(wire.AppendError(nil, id, wire.CodeInvalid, msg, nil))
	case ok:
		d.Substitute(id, msg, handle)
	default:
		d.noise.add(long.Head)
	}
}

// Substitute hands on an error for id in place of the server's answer.
func (d *Desk) Substitute(id []byte, msg string, handle func(*wire.Envelope)) {
	line := wire.AppendError(nil, id, wire.CodeInternal, msg, Trouble{Reason: msg, Server: d.Server}.Data())
	if env, err := wire.Scan(line[:len(line)-1]); err == nil {
		handle(&env)
	}
}

// Answer answers what the server may ask of mcpx itself.
func (d *Desk) Answer(env *wire.Envelope) bool {
	result := []byte("{}")
	switch env.Text(env.Method) {
	case "ping":
	case "roots/list":
		if result = d.Roots(); result == nil {
			d.Refuse(env)
			return true
		}
	default:
		return false
	}
	// A server that asks and does not read gets no answer.
	_ = d.Write(wire.AppendResult(nil, env.Bytes(env.ID), result))
	return true
}

// Refuse answers a request that nobody will.
func (d *Desk) Refuse(env *wire.Envelope) {
	_ = d.Write(wire.AppendError(nil, env.Bytes(env.ID), wire.CodeMethodNotFound, "method not found: "+env.Text(env.Method), nil))
}
