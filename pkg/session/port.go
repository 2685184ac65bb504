package session

import (
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/wire"
)

// port is this connection's place on one instance.
type port struct {
	*mux.Port
	on       *mux.Mux
	inFlight int
	lists    families
}

// enter takes this connection's place on an instance. stay makes it the one
// whose notifications the host gets; the one before goes when its last call
// ends. nil: the connection is closed.
func (c *Conn) enter(m *mux.Mux, stay bool) *port {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil
	}
	c.trouble = "" // what went wrong before does so no more
	p := c.ports[m]
	if p == nil {
		p = &port{Port: m.Attach(c, c.who.Session), on: m, lists: offered(m.Handshake().Initialize)}
		if c.host.clientInfo != nil {
			p.Introduce(c.host.clientInfo)
		}
		c.ports[m] = p
	}
	p.inFlight++
	c.sent.Add(1)
	var left *port
	if stay && c.current != p {
		left = c.depart()
		c.current = p
	}
	c.mu.Unlock()
	if left != nil {
		left.Detach()
	}
	return p
}

// depart makes no port the current one. It returns the one that was, to be
// detached, if no call is in flight there; else the last of those takes it away.
// Needs c.mu.
func (c *Conn) depart() *port {
	p := c.current
	c.current = nil
	if p == nil || p.inFlight > 0 {
		return nil
	}
	delete(c.ports, p.on)
	return p
}

// leave ends one call's stay on an instance.
func (c *Conn) leave(p *port) {
	c.mu.Lock()
	p.inFlight--
	c.sent.Add(-1)
	if c.freed != nil {
		close(c.freed)
		c.freed = nil
	}
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
	if string(method(env)) == "notifications/cancelled" {
		c.cancelSent(env)
		return
	}
	c.mu.Lock()
	p := c.current
	c.mu.Unlock()
	if p != nil {
		_ = p.Notify(env) // a notification has nobody to tell of its failure
	}
}

// cancelled ends a request wherever it is: in the queue, or at the server. It is
// true when the notification itself waits its turn.
func (c *Conn) cancelled(m *message) (queued bool) {
	id, ok := wire.CanonicalID(m.Bytes(m.RequestID))
	if !ok {
		return false
	}
	c.mu.Lock()
	it := c.waiting[id]
	c.mu.Unlock()
	if it != nil {
		it.cancel()
		if c.withdraw(it) {
			c.forgotten(id)
			c.done(it.mark)
		}
		return false
	}
	if c.cancelSent(&m.Envelope) {
		return false
	}
	// It may be on its way from the queue to the server: look again behind it.
	if c.enqueue(m, false) {
		return true
	}
	c.cancelSent(&m.Envelope)
	c.next()
	return false
}

// cancelSent cancels a request that a server has; false when none has it.
func (c *Conn) cancelSent(env *wire.Envelope) bool {
	c.mu.Lock()
	ports := make([]*port, 0, len(c.ports))
	for _, p := range c.ports {
		ports = append(ports, p)
	}
	c.mu.Unlock()
	for _, p := range ports {
		if p.Cancel(env) {
			id, _ := wire.CanonicalID(env.Bytes(env.RequestID))
			c.forgotten(id)
			return true
		}
	}
	return false
}
