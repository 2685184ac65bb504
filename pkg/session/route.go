package session

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/wire"
)

// request handles a request of the host.
func (c *Conn) request(m *message) {
	c.begin()
	name := string(method(&m.Envelope))
	if m.replayed && !again(name) {
		c.lost(m)
		return
	}
	if modern(&m.Envelope) && !c.admit(m, name) {
		return
	}
	if c.roof != nil && !hosts(name) {
		c.underRoof(m, name)
		return
	}
	switch name {
	case "initialize":
		c.meet(&m.Envelope) // at once: what follows may hang on it
		c.greet(m, c.initialize)
	case "ping":
		c.reply(wire.AppendResult(nil, m.Bytes(m.ID), []byte("{}")))
		c.done(m.mark)
	case "server/discover":
		if !modern(&m.Envelope) && !c.admit(m, name) {
			return
		}
		c.greet(m, c.discover)
	case listenMethod:
		c.placeListen(m)
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		l := c.only()
		if c.unmet() == nil && l.keptList(&m.Envelope) {
			c.done(m.mark)
			return
		}
		l.forward(m)
	default:
		c.only().forward(m)
	}
}

// greet answers a handshake, which what comes after waits for.
func (c *Conn) greet(m *message, answer func(id []byte, mark int64)) {
	id, mark := bytes.Clone(m.Bytes(m.ID)), m.mark
	if before := c.unmet(); before != nil { // a second one, before the first was answered
		<-before
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met = make(chan struct{})
	if !c.start(func() { answer(id, mark) }) {
		c.met = nil
	}
}

// hosts reports whether a request is between the host and mcpx alone.
func hosts(name string) bool {
	switch name {
	case "initialize", "ping", "server/discover", "subscriptions/listen":
		return true
	}
	return false
}

// only is the way to the one server that the host connects to.
func (c *Conn) only() *lane { return c.lane(c.o.Hello.Server) }

const cancelled = "notifications/cancelled"

// notification handles a notification of the host; true when it waits its turn.
func (c *Conn) notification(m *message) (queued bool) {
	switch string(method(&m.Envelope)) {
	case "notifications/initialized":
		c.once.Do(func() { close(c.initialized) })
		c.mu.Lock()
		c.keep()
		c.mu.Unlock()
		c.lookSoon()
	case "notifications/roots/list_changed":
		c.look.dirty.Store(true)
		c.lookSoon()
	case cancelled:
		c.cancelled(m)
	default:
		if c.roof != nil {
			for _, l := range c.used() {
				l.tell(&m.Envelope)
			}
			return false
		}
		l := c.only()
		if l.enqueue(m, false) {
			return true
		}
		l.tell(&m.Envelope)
		l.next()
	}
	return false
}

// lookSoon asks the host where it is, in its turn.
func (c *Conn) lookSoon() {
	if c.facts().roots {
		c.Refresh()
	}
}

// Refresh looks again at what the config says, after a reload.
func (c *Conn) Refresh() {
	if c.roof != nil {
		c.begun(c.review)
		return
	}
	c.only().enqueue(&message{}, true)
}

// forward sends a request to the instance it belongs to: at once when nothing
// has to be waited for, else in its turn.
func (l *lane) forward(m *message) {
	switch {
	case l.enqueue(m, false):
	case l.warm(m):
		l.next()
	default:
		l.requeue(m)
	}
}

// warm sends a request without waiting for anything; false when it would have to.
func (l *lane) warm(m *message) bool {
	c := l.c
	if !c.ready() || c.unmet() != nil || l.full() {
		return false
	}
	s, err := l.known(&m.Envelope)
	if err != nil || s.perCall() || l.allowed(m, s) != nil {
		return false
	}
	if l.goOn(m, s) {
		return true
	}
	lease, ok := c.o.Servers.Running(s.verdict.server, s.rs.Key, c.who.Session)
	if !ok {
		return false
	}
	return l.submit(m, s, lease, false)
}

// acquire waits until the request may go, finds out where it belongs and leases
// an instance there; none for one that goes on where it was.
func (l *lane) acquire(it *item) (*pool.Lease, *spot, error) {
	if err := l.awaitRoom(it); err != nil {
		return nil, nil, err
	}
	defer l.waitedElsewhere(time.Now())
	s, err := l.where(it.ctx, &it.Envelope)
	if err != nil {
		return nil, nil, err
	}
	if err := l.allowed(&it.message, s); err != nil {
		return nil, nil, err
	}
	if l.asked(&it.Envelope) != nil {
		return nil, s, nil
	}
	lease, err := l.lease(it.ctx, s)
	return lease, s, err
}

// asked is the port whose server has asked about a request, which the modern host
// makes once more with the answers; nil for any other request.
func (l *lane) asked(env *wire.Envelope) *port {
	if env.RequestState.Empty() {
		return nil
	}
	state := env.Text(env.RequestState)
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for _, p := range l.c.ports {
		if mux.IsParked(state) && p.lane == l && p.Parked(state) {
			return p
		}
	}
	return nil
}

// goOn sends such a request to the process that asked: the session may be
// elsewhere by now, and a process for one call is not found again. False when
// none waits for it.
func (l *lane) goOn(m *message, s *spot) bool {
	p, mark := l.asked(&m.Envelope), m.mark
	if p == nil {
		return false
	}
	l.c.mu.Lock()
	p.inFlight++
	l.c.sent.Add(1)
	l.c.mu.Unlock()
	end := func() {
		p.leave()
		l.c.done(mark)
	}
	err := p.Request(&m.Envelope, mux.CallOptions{
		Timeout: s.verdict.server.CallTimeout, Max: max(maxCallTime, s.verdict.server.CallTimeout), Done: end, Modern: true,
	})
	if err != nil {
		l.failed(&m.Envelope, err)
		end()
	}
	return true
}

// lease leases the instance of a spot, starting it if need be.
func (l *lane) lease(ctx context.Context, s *spot) (*pool.Lease, error) {
	cc := s.cc
	cc.CallID = l.c.callID()
	return l.c.o.Servers.Acquire(ctx, s.verdict.server, cc)
}

// submit sends a request on a lease, which ends with the call. It is false when
// the process ended before anything was sent and another may be tried; at the
// last one, its end is the answer.
func (l *lane) submit(m *message, s *spot, lease *pool.Lease, last bool) bool {
	c, env, mark := l.c, &m.Envelope, m.mark
	p := l.enter(lease, !s.perCall())
	if p == nil { // there is nobody left to answer
		lease.Release()
		c.done(mark)
		return true
	}
	end := func() {
		lease.Release()
		p.leave()
		c.done(mark)
	}
	if list, ok := lists[string(method(env))]; ok {
		l.listed(list.family, listing{offer: s.verdict.offer(list.family), on: p.on})
		if !p.lists.has(list.family) { // the superset promised it, so it is empty rather than an error
			c.reply(wire.AppendResult(nil, env.Bytes(env.ID), c.complete(string(method(env)), emptyList(list.member))))
			end()
			return true
		}
	}
	switch string(method(env)) {
	case "resources/subscribe":
		p.subscribes(lease)
	case "logging/setLevel":
		c.mu.Lock()
		c.level = env.Text(env.Level)
		c.keep()
		c.mu.Unlock()
	}
	err := p.Request(env, mux.CallOptions{
		Timeout: s.verdict.server.CallTimeout, Max: max(maxCallTime, s.verdict.server.CallTimeout), Done: end, Lease: lease, Edits: m.edits, Modern: modern(env),
	})
	if gone, ok := errors.AsType[*mux.Error](err); ok && gone.Gone && !last {
		lease.Release()
		p.leave()
		return false
	}
	if err != nil {
		l.failed(env, err)
		end()
	}
	return true
}

// method is the method's name, decoded.
func method(env *wire.Envelope) []byte {
	raw := env.Bytes(env.Method)
	if len(raw) < 2 || bytes.IndexByte(raw, '\\') >= 0 {
		return []byte(env.Text(env.Method))
	}
	return raw[1 : len(raw)-1]
}
