package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Serve reads until the server ends and hands each message to handle, whose
// envelope is valid during the call only. ping and roots/list from the server
// are answered here and not handed on; lines that are no messages are counted
// (design D7). An answer that cannot be passed on, since it is broken or too
// long, is handed on as an error for its id. One caller. The error is Failure's.
func (c *Conn) Serve(handle func(*wire.Envelope)) error {
	for {
		line, err := c.out.Next()
		if err == nil {
			c.serveLine(line, handle)
		} else if long, ok := errors.AsType[*stdio.TooLong](err); ok {
			c.tooLong(long, handle)
		} else {
			return c.ended()
		}
	}
}

func (c *Conn) serveLine(line []byte, handle func(*wire.Envelope)) {
	env, err := wire.Scan(line)
	if err == nil {
		c.env = env
		c.serveOne(&c.env, handle)
		return
	}
	for env := range c.batch(line, handle) {
		c.serveOne(env, handle)
	}
}

// serveOne answers a message or hands it on.
func (c *Conn) serveOne(env *wire.Envelope, handle func(*wire.Envelope)) {
	switch env.Kind {
	case wire.Request:
		if c.answer(env) {
			return
		}
	case wire.Result, wire.Error:
		if bytes.Equal(env.Bytes(env.ID), probeID) {
			c.lateProbe(env)
			return
		}
	}
	handle(env)
}

// messages yields what a line holds: usually one message, or those of a batch,
// which no server should send and some do.
func (c *Conn) messages(line []byte) iter.Seq[*wire.Envelope] {
	env, err := wire.Scan(line)
	if err != nil {
		return c.batch(line, nil)
	}
	return func(yield func(*wire.Envelope) bool) { yield(&env) }
}

// batch yields the messages of a line that Scan refused. What is none is noise;
// broken is called with an error in place of an answer that is broken.
func (c *Conn) batch(line []byte, broken func(*wire.Envelope)) iter.Seq[*wire.Envelope] {
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
				c.refused(element, err, broken)
			} else if !yield(&env) {
				return
			}
		}
	}
}

// refused counts a line that is no message. Whoever waits for the answer that
// it meant to be is told; of one that the server's end cut off, the end tells.
func (c *Conn) refused(line []byte, err error, broken func(*wire.Envelope)) {
	if c.noise.add(line) {
		c.opts.Log.Warn("dropped a line that is no message", "server", c.plan.Server, "err", err)
	}
	if broken == nil || c.out.CutOff() {
		return
	}
	if bad, ok := errors.AsType[*wire.ScanError](err); ok && bad.ResponseID != nil {
		c.substitute(bad.ResponseID, "the server's answer is not valid: "+bad.Msg, broken)
	}
}

// tooLong tells whoever waits for an answer over the cap, or asked too long a
// question.
func (c *Conn) tooLong(long *stdio.TooLong, handle func(*wire.Envelope)) {
	id, kind, ok := wire.PeekID(long.Head, long.Tail)
	msg := fmt.Sprintf("the server's message of %d bytes is over the limit of %d", long.Size, stdio.MaxLine)
	switch {
	case ok && kind == wire.Request:
		_ = c.in.Write(wire.AppendError(nil, id, wire.CodeInvalid, msg, nil))
	case ok:
		c.substitute(id, msg, handle)
	default:
		c.noise.add(long.Head)
	}
}

// substitute hands on an error for id in place of the server's answer.
func (c *Conn) substitute(id []byte, msg string, handle func(*wire.Envelope)) {
	line := wire.AppendError(nil, id, wire.CodeInternal, msg, Trouble{Reason: msg, Server: c.plan.Server}.Data())
	if env, err := wire.Scan(line[:len(line)-1]); err == nil {
		handle(&env)
	}
}

// answer answers what the server may ask of mcpx itself.
func (c *Conn) answer(env *wire.Envelope) bool {
	result := []byte("{}")
	switch env.Text(env.Method) {
	case "ping":
	case "roots/list":
		if result = c.rootsResult(); result == nil {
			c.refuse(env)
			return true
		}
	default:
		return false
	}
	// A server that asks and does not read gets no answer.
	_ = c.in.Write(wire.AppendResult(nil, env.Bytes(env.ID), result))
	return true
}

// refuse answers a request that nobody will.
func (c *Conn) refuse(env *wire.Envelope) {
	_ = c.in.Write(wire.AppendError(nil, env.Bytes(env.ID), wire.CodeMethodNotFound, "method not found: "+env.Text(env.Method), nil))
}

// lateProbe drops an answer to the probe that came when the matter was settled.
// If the server turns out to be modern after all, its next start will be.
func (c *Conn) lateProbe(env *wire.Envelope) {
	if c.hs.Era == Legacy && era.IsDiscover(env.Bytes(env.Result)) {
		c.opts.Eras.SetEra(c.plan.Identity(), Verdict{Era: Modern, Checked: time.Now()})
	}
}

// ended makes the failure of a server that was open. The process and its stdout
// need not end together (hosts §5): one that lives on is stopped.
func (c *Conn) ended() error {
	c.end()
	c.awaitExit()
	f := &Failure{Server: c.plan.Server, Msg: "exited", Exit: c.proc.Exit(), Stderr: c.proc.StderrTail()}
	switch {
	case c.stopping.Load():
		f = &Failure{Server: c.plan.Server, Msg: "was stopped", Stopped: true} // its last words are not why
	case f.Exit == "":
		f.Msg = "closed its stdout"
		c.hangUp()
	}
	c.mu.Lock()
	c.failure = f
	c.mu.Unlock()
	return f
}
