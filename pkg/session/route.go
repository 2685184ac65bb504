package session

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/wire"
)

// request handles a request of the host.
func (c *Conn) request(env *wire.Envelope) {
	c.begin()
	switch string(method(env)) {
	case "initialize":
		c.meet(env) // at once: what follows may hang on it
		id := bytes.Clone(env.Bytes(env.ID))
		c.mu.Lock()
		c.start(func() { c.initialize(id) })
		c.mu.Unlock()
	case "ping":
		c.reply(wire.AppendResult(nil, env.Bytes(env.ID), []byte("{}")))
		c.done()
	case "server/discover":
		c.refuse(env.Bytes(env.ID), codeMethodNotFound, "Method not found", trouble{reason: "mcpx is spoken to with initialize"})
		c.done()
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		if c.keptList(env) {
			c.done()
			return
		}
		c.forward(env)
	default:
		c.forward(env)
	}
}

// notification handles a notification of the host.
func (c *Conn) notification(env *wire.Envelope) {
	switch string(method(env)) {
	case "notifications/initialized":
		c.once.Do(func() { close(c.initialized) })
		c.lookSoon()
	case "notifications/roots/list_changed":
		c.look.dirty.Store(true)
		c.lookSoon()
	case "notifications/cancelled":
		c.cancelled(env)
	default:
		if !c.enqueue(env, false) {
			c.tell(env)
			c.next()
		}
	}
}

// lookSoon asks the host where it is, in its turn.
func (c *Conn) lookSoon() {
	if c.facts().roots {
		c.enqueue(&wire.Envelope{}, true)
	}
}

// Refresh looks again at what the config says, after a reload.
func (c *Conn) Refresh() { c.enqueue(&wire.Envelope{}, true) }

// forward sends a request to the instance it belongs to: at once when nothing
// has to be waited for, else in its turn.
func (c *Conn) forward(env *wire.Envelope) {
	switch {
	case c.enqueue(env, false):
	case c.warm(env):
		c.next()
	default:
		c.requeue(env)
	}
}

// warm sends a request without waiting for anything; false when it would have to.
func (c *Conn) warm(env *wire.Envelope) bool {
	if !c.ready() {
		return false
	}
	old, facts := c.known(env)
	if old == nil || c.mustLook(old) {
		return false
	}
	s, err := c.resolve(c.life, old, facts, old.stale)
	if err != nil || s.perCall() || c.allowed(env, s) != nil {
		return false
	}
	lease, ok := c.o.Servers.Running(s.verdict.server, s.rs.Key)
	if !ok {
		return false
	}
	c.submit(env, s, lease)
	return true
}

// acquire finds out where the request belongs and leases an instance there.
func (c *Conn) acquire(it *item) (*pool.Lease, *spot, error) {
	s, err := c.where(it.ctx, &it.env)
	if err != nil {
		return nil, nil, err
	}
	if err := c.allowed(&it.env, s); err != nil {
		return nil, nil, err
	}
	cc := s.cc
	cc.CallID = c.o.CallID()
	lease, err := c.o.Servers.Acquire(it.ctx, s.verdict.server, cc)
	return lease, s, err
}

// submit sends a request on a lease, which ends with the call.
func (c *Conn) submit(env *wire.Envelope, s *spot, lease *pool.Lease) {
	p := c.enter(lease.Mux(), !s.perCall())
	if p == nil { // there is nobody left to answer
		lease.Release()
		c.done()
		return
	}
	end := func() {
		lease.Release()
		c.leave(p)
		c.done()
	}
	if list, ok := lists[string(method(env))]; ok {
		c.listed(list.family, listing{offer: s.verdict.offer(list.family), on: p.on})
		if !p.lists.has(list.family) { // the superset promised it, so it is empty rather than an error
			c.reply(wire.AppendResult(nil, env.Bytes(env.ID), emptyList(list.member)))
			end()
			return
		}
	}
	if err := p.Request(env, mux.CallOptions{Timeout: s.verdict.server.CallTimeout, Done: end}); err != nil {
		c.failed(env, err)
		end()
	}
}

// method is the method's name, decoded.
func method(env *wire.Envelope) []byte {
	raw := env.Bytes(env.Method)
	if len(raw) < 2 || bytes.IndexByte(raw, '\\') >= 0 {
		return []byte(env.Text(env.Method))
	}
	return raw[1 : len(raw)-1]
}

// clone is an envelope on a line of its own.
func clone(env *wire.Envelope) wire.Envelope {
	own := *env
	own.Line = bytes.Clone(env.Line)
	return own
}
