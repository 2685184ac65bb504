package session

import (
	"bytes"
	"context"
	"time"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/wire"
)

// item is a message that waits for its turn: requests to one server keep their
// order through roots, start and queue (design D14).
type item struct {
	env    wire.Envelope // on a copy of the line; Kind Invalid: only look where the host is
	id     string        // canonical; "" for what is not a request
	ctx    context.Context
	cancel context.CancelFunc
}

// request handles a request of the host.
func (c *Conn) request(env *wire.Envelope) {
	c.begin()
	switch string(method(env)) {
	case "initialize":
		own := clone(env)
		c.wg.Go(func() { c.initialize(&own) })
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
		if !c.enqueue(env, "", false) {
			c.tell(env)
			c.next()
		}
	}
}

// lookSoon asks the host where it is, in its turn.
func (c *Conn) lookSoon() {
	if c.facts().roots {
		c.enqueue(&wire.Envelope{}, "", true)
	}
}

// Refresh looks again at what the config says, after a reload.
func (c *Conn) Refresh() { c.enqueue(&wire.Envelope{}, "", true) }

// forward sends a request to the instance it belongs to: at once when nothing
// has to be waited for, else in its turn.
func (c *Conn) forward(env *wire.Envelope) {
	if c.enqueue(env, "", false) {
		return
	}
	if c.warm(env) {
		c.next()
		return
	}
	c.requeue(env)
}

// enqueue puts a copy of env at the end of the queue. Without force it does so
// only when something is ahead; else it makes the caller the one who places
// requests, who must call next or requeue.
func (c *Conn) enqueue(env *wire.Envelope, id string, force bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy && !force {
		c.busy = true
		return false
	}
	it := c.newItem(env)
	if it == nil {
		return true
	}
	c.queue = append(c.queue, it)
	if !c.busy {
		c.busy = true
		c.wg.Go(c.work)
	}
	return true
}

// requeue is for the caller whom enqueue made the one who places: the request
// has to wait, so a goroutine takes over.
func (c *Conn) requeue(env *wire.Envelope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.newItem(env); it != nil {
		c.queue = append([]*item{it}, c.queue...)
	}
	c.wg.Go(c.work)
}

// next hands the turn on.
func (c *Conn) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.busy = false
		return
	}
	c.wg.Go(c.work)
}

// newItem needs c.mu. nil: the request was answered instead, as a second one
// under an id that still waits.
func (c *Conn) newItem(env *wire.Envelope) *item {
	it := &item{env: clone(env)}
	it.ctx, it.cancel = context.WithCancel(c.life)
	if env.Kind != wire.Request {
		return it
	}
	it.id, _ = wire.CanonicalID(env.Bytes(env.ID))
	if _, twice := c.waiting[it.id]; twice {
		it.cancel()
		c.send(wire.AppendError(nil, env.Bytes(env.ID), codeInvalidRequest, "this id is in use by an earlier request", nil))
		c.open.Add(-1)
		return nil
	}
	c.waiting[it.id] = it
	return it
}

// work places what waits, in order, until nothing does.
func (c *Conn) work() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.busy = false
			c.mu.Unlock()
			return
		}
		it := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		c.turn(it)
		it.cancel()
	}
}

// turn places one item.
func (c *Conn) turn(it *item) {
	c.awaitInitialized(it.ctx)
	switch it.env.Kind {
	case wire.Invalid:
		_, _ = c.where(it.ctx, nil) // a failure is the next request's to tell
		return
	case wire.Notification:
		c.tell(&it.env)
		return
	}
	lease, s, err := c.acquire(it)
	c.mu.Lock()
	delete(c.waiting, it.id)
	gone := it.ctx.Err() != nil
	c.mu.Unlock()
	if gone {
		if err == nil {
			lease.Release()
		}
		c.forgotten(it.id)
		c.done()
		return
	}
	if err != nil {
		c.failed(&it.env, err)
		c.done()
		return
	}
	c.submit(&it.env, s, lease)
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

// warm sends a request without waiting for anything; false when it would have to.
func (c *Conn) warm(env *wire.Envelope) bool {
	select {
	case <-c.initialized:
	default:
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

// submit sends a request on a lease, which ends with the call.
func (c *Conn) submit(env *wire.Envelope, s *spot, lease *pool.Lease) {
	p := c.enter(lease.Mux(), !s.perCall())
	if p == nil { // the connection has been closed meanwhile
		lease.Release()
		c.done()
		return
	}
	if c.lacks(env, p) {
		c.reply(wire.AppendResult(nil, env.Bytes(env.ID), emptyList(method(env))))
		lease.Release()
		c.leave(p)
		c.done()
		return
	}
	err := p.Request(env, mux.CallOptions{Timeout: s.verdict.server.CallTimeout, Done: func() {
		lease.Release()
		c.leave(p)
		c.done()
	}})
	if err != nil {
		lease.Release()
		c.leave(p)
		c.failed(env, err)
		c.done()
	}
}

// enter takes this connection's place on an instance. stay makes it the one
// whose notifications the host gets; the one before goes when its last call ends.
func (c *Conn) enter(m *mux.Mux, stay bool) *port {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil
	}
	p := c.ports[m]
	if p == nil {
		p = &port{Port: m.Attach(c), on: m, lists: offered(m.Handshake().Initialize)}
		c.ports[m] = p
	}
	p.inFlight++
	var left *port
	if stay && c.current != p {
		if left = c.current; left != nil && left.inFlight == 0 {
			delete(c.ports, left.on)
		} else {
			left = nil
		}
		c.current = p
	}
	c.mu.Unlock()
	if left != nil {
		left.Detach()
	}
	return p
}

// leave ends one call's stay on an instance.
func (c *Conn) leave(p *port) {
	c.mu.Lock()
	p.inFlight--
	gone := p.inFlight == 0 && p != c.current && c.ports[p.on] == p
	if gone {
		delete(c.ports, p.on)
	}
	c.mu.Unlock()
	if gone {
		p.Detach()
	}
}

// tell forwards a notification to the instance in use; with none there is
// nobody whom it concerns.
func (c *Conn) tell(env *wire.Envelope) {
	c.mu.Lock()
	p := c.current
	c.mu.Unlock()
	if p != nil {
		_ = p.Notify(env) // a notification has nobody to tell of its failure
	}
}

// cancelled ends a request wherever it is: in the queue, or at the server.
func (c *Conn) cancelled(env *wire.Envelope) {
	id, ok := wire.CanonicalID(env.Bytes(env.RequestID))
	if !ok {
		return
	}
	c.mu.Lock()
	it := c.waiting[id]
	ports := make([]*port, 0, len(c.ports))
	for _, p := range c.ports {
		ports = append(ports, p)
	}
	c.mu.Unlock()
	if it != nil {
		it.cancel()
		return
	}
	for _, p := range ports {
		if p.Cancel(env) {
			c.forgotten(id)
			return
		}
	}
}

// awaitInitialized holds a request back that came before the host said that it
// is ready, but not for long.
func (c *Conn) awaitInitialized(ctx context.Context) {
	select {
	case <-c.initialized:
		return
	default:
	}
	t := time.NewTimer(initializedWait)
	defer t.Stop()
	select {
	case <-c.initialized:
	case <-t.C:
	case <-ctx.Done():
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
