package session

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// port is this connection's place on one instance (mux.Peer).
type port struct {
	*mux.Port
	lane     *lane
	on       *mux.Mux
	inFlight int
	lists    families
	pin      *pool.Lease   // while the host is subscribed to something here; guarded by Conn.mu
	unpinned chan struct{} // closed when it is taken back
}

// enter takes this connection's place on an instance. stay makes it the one
// whose notifications the host gets; the one before goes when its last call
// ends. nil: the connection is closed.
func (l *lane) enter(lease *pool.Lease, stay bool) *port {
	c, m := l.c, lease.Mux()
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil
	}
	l.trouble = "" // what went wrong before does so no more
	p, host := c.ports[m], c.host
	fresh := p == nil
	if fresh {
		p = &port{lane: l, on: m, lists: offered(m.Handshake().Initialize)}
		p.Port = m.Attach(p, c.who.Session)
		c.ports[m] = p
	}
	p.inFlight++
	c.sent.Add(1)
	var left *port
	moved := stay && l.current != p
	if moved {
		left = l.depart()
		l.current = p
	}
	level, subs := c.level, l.subs
	c.mu.Unlock()
	if fresh && host.clientInfo != nil { // outside the lock: a session's own server asks it for its roots
		p.Introduce(host.clientInfo, host.capabilities)
	}
	if left != nil {
		left.Detach()
	}
	if moved && (level != "" || len(subs) > 0) {
		if len(subs) > 0 {
			p.subscribes(lease)
		}
		p.Replay(level, subs)
	}
	return p
}

// depart makes no port the current one. It returns the one that was, to be
// detached, if no call is in flight there; else the last of those takes it away.
// Needs c.mu.
func (l *lane) depart() *port {
	p := l.current
	l.current = nil
	if p != nil {
		p.unpin()
	}
	if p == nil || p.inFlight > 0 || p.Parked("") {
		return nil
	}
	delete(l.c.ports, p.on)
	return p
}

// leave ends one call's stay on an instance.
func (p *port) leave() {
	c := p.lane.c
	c.mu.Lock()
	p.inFlight--
	c.sent.Add(-1)
	if c.freed != nil {
		close(c.freed)
		c.freed = nil
	}
	gone := p.inFlight == 0 && p != p.lane.current && c.ports[p.on] == p && !p.Parked("")
	if gone {
		delete(c.ports, p.on)
	}
	c.mu.Unlock()
	if gone {
		p.Detach()
	}
}

// Response delivers a server's answer (mux.Peer).
func (p *port) Response(method string, line []byte) {
	if filtered, ok := p.lane.filter(method, line); ok {
		line = filtered
	}
	switch method {
	case "resources/subscribe", "resources/unsubscribe":
		p.subscribed()
	}
	p.lane.c.reply(p.sealed(method, line))
}

// Notification delivers what a server says of itself (mux.Peer). Of one that the
// session sees no longer the host hears how its calls go, and nothing else.
func (p *port) Notification(method string, line []byte) {
	if method != "notifications/progress" && p.lane.hidden() {
		return
	}
	p.lane.c.tellHost(method, p.sealed(method, line))
}

// sealed is a line as a host sees it that has many servers behind it: tasks have
// the ids under which it knows them, and questions say who asks. Few lines are
// about either, so few are read again.
func (p *port) sealed(method string, line []byte) []byte {
	tasks, asks := bytes.Contains(line, taskID), bytes.Contains(line, inputRequired)
	if p.lane.c.roof == nil || !tasks && !asks {
		return line
	}
	env, err := wire.Scan(bytes.TrimRight(line, "\n"))
	if err != nil {
		return line
	}
	var edits []wire.Edit
	if tasks {
		edits = roof.SealTasks(edits, &env, method, p.lane.name)
	}
	if asks {
		if edits, err = p.signed(edits, &env); err != nil {
			return wire.AppendError(nil, env.Bytes(env.ID), wire.CodeInternal, err.Error(), upstream.Trouble{Reason: err.Error(), Server: p.lane.name}.Data())
		}
	}
	return env.Append(nil, edits...)
}

var taskID, inputRequired = []byte("taskId"), []byte("input_required")

// signed adds to edits those by which the questions in a modern server's answer
// say who asks (threat T20).
func (p *port) signed(edits []wire.Edit, env *wire.Envelope) ([]wire.Edit, error) {
	if env.Kind != wire.Result || env.Text(env.ResultType) != "input_required" {
		return edits, nil
	}
	result := env.Bytes(env.Result)
	asks, ok := wire.Member(result, "inputRequests")
	if !ok {
		return edits, nil
	}
	for _, one := range wire.Members(result[asks.Start:asks.End]) {
		from := asks.Start + one.Start
		ask := result[from : asks.Start+one.End]
		at, _ := wire.Member(ask, "method")
		method, _ := wire.Text(ask[at.Start:at.End])
		at, ok := wire.Member(ask, "params")
		if !ok {
			continue
		}
		params, err := roof.Question(p.lane.name, method, ask[at.Start:at.End])
		if err != nil {
			return nil, err
		}
		start := env.Result.Start + from
		edits = append(edits, wire.Edit{At: wire.Span{Start: start + at.Start, End: start + at.End}, With: params})
	}
	return edits, nil
}

// Ask puts a server's request to the host (mux.Peer). Under a roof it says whose
// it is.
func (p *port) Ask(method string, q *mux.Question, env *wire.Envelope) {
	var edits []wire.Edit
	if p.lane.c.roof != nil {
		params, err := roof.Question(p.lane.name, method, env.Bytes(env.Params))
		if err != nil {
			q.Refuse(wire.CodeInvalidParams, err.Error())
			return
		}
		if params != nil {
			edits = append(edits, wire.Edit{At: env.Params, With: params})
		}
	}
	p.lane.c.put(method, q, env, edits...)
}

// Withdraw tells the host that nobody waits for its answer any more (mux.Peer).
func (p *port) Withdraw(q *mux.Question, env *wire.Envelope) { p.lane.c.withdraw(q, env) }

// cancelled ends a request wherever it is: in a queue, or at a server.
func (c *Conn) cancelled(m *message) {
	id, ok := wire.CanonicalID(m.Bytes(m.RequestID))
	if !ok {
		return
	}
	if c.deaf(id) {
		return
	}
	c.mu.Lock()
	it := c.waiting[id]
	c.mu.Unlock()
	if it != nil {
		it.cancel()
		if it.lane != nil && it.lane.forgo(it) {
			c.forgotten(id)
			c.done(it.mark)
		}
		return
	}
	if c.cancelSent(&m.Envelope) {
		return
	}
	// It may be on its way from a queue to a server: look again behind it.
	late := *m
	late.mark = 0
	for _, l := range c.used() {
		l.follow(&late)
	}
	c.cancelSent(&m.Envelope)
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
