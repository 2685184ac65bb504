package mux

import (
	"slices"
	"strconv"
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

// call is a request in flight: what is needed to answer it, or to give it up
// (W1). Whoever takes it out of the table owns it. A call that was given up
// leaves nothing behind: its id is never used again, so that a late answer or
// progress finds nobody and is dropped (W2, W4).
type call struct {
	id      uint64
	port    *Port  // nil for mcpx's own
	key     string // canonical id, in port.calls
	method  string
	taskID  string // that it is about
	asTask  bool   // it asks to be answered with a task
	hostID  []byte // as sent
	token   []byte // as sent; empty when the host asked for no progress
	modern  bool   // its host is of the modern era
	caps    []byte // of that host, as sent
	level   level  // of the log that it wants to hear
	line    []byte // as a modern server got it, which may ask before it answers
	asks    int    // how often it did
	round   *round // what it asked; the call is not with the server until that is answered
	parked  *parked
	sent    time.Time
	timeout time.Duration
	max     time.Duration
	// deadline is the end of the inactivity timeout, or the last one there may
	// be if that comes first; zero for none.
	deadline, last time.Time
	progress       rate
	refused        func() // with mu held, when the server answers with an error
	done           func()
	lease          Lease        // see CallOptions
	answer         chan<- reply // mcpx's own calls
}

// entry makes a call of a request's bytes, which it copies.
func (m *Mux) entry(env *wire.Envelope, key, method string) *call {
	c := m.entries.Get().(*call)
	*c = call{
		key: key, method: method, asTask: !env.Task.Empty(), line: c.line[:0], caps: c.caps[:0],
		hostID: append(c.hostID[:0], env.Bytes(env.ID)...), token: append(c.token[:0], env.Bytes(env.ProgressToken)...),
	}
	return c
}

const errTwice = "a request with this id is in flight"

// enter puts a call into the table under the next id.
func (m *Mux) enter(c *call) (id uint64, err *Error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.failed != nil:
		return 0, m.failed
	case c.port != nil && c.port.detached:
		return 0, m.internal("the session has left")
	case c.port != nil && c.port.calls[c.key] != nil:
		return 0, m.invalid(errTwice)
	}
	m.lastID++
	c.id = m.lastID
	m.calls[c.id] = c
	if c.port != nil {
		c.port.calls[c.key] = c
		c.port.modern = c.modern
		c.sent = now
		m.turns.called(c.port.owner, now)
		m.stats.Calls++
	}
	if c.max > 0 {
		c.last = now.Add(c.max)
	}
	if c.alive(now); !c.deadline.IsZero() {
		m.lookLocked(c.deadline)
	}
	return c.id, nil
}

// alive sets the deadline after a sign of life.
func (c *call) alive(now time.Time) {
	if c.deadline = c.last; c.timeout > 0 {
		if at := now.Add(c.timeout); c.last.IsZero() || at.Before(c.last) {
			c.deadline = at
		}
	}
}

// InFlight is how many requests of the port the server has not answered.
func (p *Port) InFlight() int {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return len(p.calls)
}

// take takes a call out of the table; nil when it is no longer there.
func (m *Mux) take(id uint64) *call {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c != nil {
		m.removeLocked(c)
	}
	return c
}

func (m *Mux) removeLocked(c *call) {
	delete(m.calls, c.id)
	switch {
	case c.port == nil:
	case c.waitsForHost():
		delete(c.port.parked, c.parked.state)
	default:
		delete(c.port.calls, c.key)
		m.quietLocked(c)
	}
}

// withServer reports whether the server is at work on it.
func (c *call) withServer() bool {
	return c.round == nil && (c.parked == nil || c.parked.answer == nil)
}

// discard ends a call that was never sent: what it changed is undone, and nobody
// hears of it.
func (m *Mux) discard(c *call) {
	if c.refused != nil {
		m.mu.Lock()
		c.refused()
		m.mu.Unlock()
	}
	c.done = nil
	m.finish(c)
}

// finish ends a call that was taken out of the table.
func (m *Mux) finish(c *call) {
	if c.round != nil || c.parked != nil {
		m.unask(c)
	}
	if c.done != nil {
		c.done()
	}
	*c = call{hostID: c.hostID, token: c.token, caps: c.caps, line: c.line}
	if cap(c.hostID)+cap(c.token)+cap(c.caps)+cap(c.line) <= keptLine {
		m.entries.Put(c)
	}
}

// reject answers a call that was taken out of the table with an error of ours.
func (m *Mux) reject(c *call, e *Error) {
	switch {
	case c.answer != nil:
		c.answer <- reply{err: e}
	case !c.waitsForHost():
		m.answerError(c, e)
	}
	m.finish(c)
}

// giveUp tells the server that nobody waits for id any more (W4).
func (m *Mux) giveUp(id uint64, reason string) {
	// A server that takes no more lines will not work on the call either.
	_ = m.conn.Write(cancelLine(id, reason))
}

func cancelLine(id uint64, reason string) []byte {
	params := strconv.AppendUint([]byte(`{"requestId":`), id, 10)
	params = wire.AppendString(append(params, `,"reason":`...), reason)
	return wire.AppendNotification(nil, "notifications/cancelled", append(params, '}'))
}

// fail answers everything in flight: the upstream has ended (W14).
func (m *Mux) fail(err error) {
	m.mu.Lock()
	m.err = err
	failed := m.exited(err)
	late := *failed // for those who come now
	late.Gone = true
	m.failed = &late
	calls := make([]*call, 0, len(m.calls))
	for _, c := range m.calls {
		calls = append(calls, c)
	}
	for _, c := range calls {
		m.removeLocked(c)
	}
	m.stats.Errors += int64(len(calls))
	open := m.questionsLocked(func(*Question) bool { return true })
	m.mu.Unlock()
	for _, q := range open {
		q.withdraw(nil)
	}
	for _, c := range calls {
		m.reject(c, failed)
	}
}

// hauntLocked remembers a call that was given up: the server may still be at it,
// and ask on its behalf (W6).
func (m *Mux) hauntLocked(c *call, now time.Time) {
	if !c.withServer() {
		return
	}
	if len(m.ghosts) == maxGhosts {
		m.ghosts = slices.Delete(m.ghosts, 0, 1)
	}
	m.ghosts = append(m.ghosts, ghost{c.id, c.port, now.Add(questionLife)})
}

// layLocked forgets a ghost: the server has answered it after all.
func (m *Mux) layLocked(id uint64) {
	m.ghosts = slices.DeleteFunc(m.ghosts, func(g ghost) bool { return g.id == id })
}

func (m *Mux) ghostsLocked(now time.Time) []ghost {
	m.ghosts = slices.DeleteFunc(m.ghosts, func(g ghost) bool { return now.After(g.until) })
	return m.ghosts
}

// rate bounds how often something may happen within a second (threat T34).
type rate struct {
	second time.Time
	n      int
}

func (r *rate) allows(perSecond int, now time.Time) bool {
	if now.Sub(r.second) >= time.Second {
		*r = rate{second: now}
	}
	r.n++
	return r.n <= perSecond
}
