package upstream

import (
	"bytes"
	"errors"
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
	take := func(env *wire.Envelope) {
		if !c.lateProbe(env) {
			handle(env)
		}
	}
	for {
		line, err := c.out.Next()
		if err == nil {
			c.desk.Line(line, take)
		} else if long, ok := errors.AsType[*stdio.TooLong](err); ok {
			c.desk.TooLong(long, take)
		} else {
			return c.ended(err)
		}
	}
}

// lateProbe drops an answer to the probe that came when the matter was settled.
// If the server turns out to be modern after all, its next start will be.
func (c *Conn) lateProbe(env *wire.Envelope) bool {
	if env.Kind != wire.Result && env.Kind != wire.Error || !bytes.Equal(env.Bytes(env.ID), probeID) {
		return false
	}
	if c.hs.Era == Legacy && era.IsDiscover(env.Bytes(env.Result)) {
		c.opts.Eras.SetEra(c.plan.Identity(), Verdict{Era: Modern, Checked: time.Now()})
	}
	return true
}

// ended makes the failure of a server that was open. The process and its stdout
// need not end together (hosts §5): one that lives on is stopped.
func (c *Conn) ended(why error) error {
	c.end()
	if why != stdio.ErrEndless { // one that writes on is not about to exit
		c.awaitExit()
	}
	f := &Failure{Server: c.plan.Server, Msg: "exited", Exit: c.proc.Exit(), Stderr: c.proc.StderrTail()}
	switch {
	case c.stopping.Load():
		f = &Failure{Server: c.plan.Server, Msg: "was stopped", Stopped: true} // its last words are not why
	case f.Exit == "":
		f.Msg = "closed its stdout"
		if why == stdio.ErrEndless {
			f.Msg = "wrote " + why.Error()
		}
		c.hangUp()
	}
	c.mu.Lock()
	c.failure = f
	c.mu.Unlock()
	return f
}
