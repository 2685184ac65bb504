package mux

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// parked is what a legacy server asks about a call of a modern host's. Such a
// host is asked in the answer to its request, and makes that once more with its
// own answers: meanwhile the call waits here, with the server (protocol §3.5).
type parked struct {
	queue []*Question // not put to the host yet
	// While the call waits for its host:
	state  string // by which the host names it; "" when the host waits for us
	until  time.Time
	put    []*Question // in the order of their keys, r1, r2, …
	answer []byte      // the server's, which came meanwhile
	keep   func()      // lets go of the instance
}

const statePrefix = "mcpx1."

// waitsForHost reports whether the host was answered, and has to make the request
// once more.
func (c *call) waitsForHost() bool { return c.parked != nil && c.parked.state != "" }

// attachLocked finds the call in whose answer a modern host can be asked q. A
// legacy one is asked as it always was.
func (m *Mux) attachLocked(q *Question, p *Port, env *wire.Envelope, method string) *Error {
	calls := slices.Collect(p.inFlightLocked())
	c, ok := decideCall(calls, p.modern)
	switch {
	case !ok:
		return m.internal("no request of the host's is in flight that can be answered with %q", method)
	case c == nil:
		return nil
	case method != "elicitation/create" && method != "sampling/createMessage":
		return &Error{Code: wire.CodeMethodNotFound, Msg: "method not found: " + method}
	}
	ask := era.Ask{Method: method, Params: bytes.Clone(env.Bytes(env.Params))}
	if refusal := era.Lacks(c.caps, ask); refusal != nil {
		return &Error{Code: wire.CodeMethodNotFound, Msg: refusal.Msg}
	}
	if c.parked == nil {
		c.parked = &parked{}
	}
	q.call, q.ask = c.id, ask
	c.parked.queue = append(c.parked.queue, q)
	return nil
}

// inFlightLocked are the port's calls that the server has not answered.
func (p *Port) inFlightLocked() func(yield func(*call) bool) {
	return func(yield func(*call) bool) {
		for _, table := range []map[string]*call{p.calls, p.parked} {
			for _, c := range table {
				if c.withServer() && !yield(c) {
					return
				}
			}
		}
	}
}

// decideCall is the call that a question to the host is about: the only one, or
// the oldest that may be answered so. nil for a host that is asked by a request
// of its own; ok is false when there is no way. Pure.
func decideCall(calls []*call, modern bool) (about *call, ok bool) {
	legacy := len(calls) == 0 && !modern
	for _, c := range calls {
		legacy = legacy || !c.modern
		if c.modern && era.MayAsk(c.method) && (about == nil || c.id < about.id) {
			about = c
		}
	}
	return about, about != nil || legacy
}

// park answers the host of a call with what the server asks. Only who has taken
// the call out of the table may look into it, so it is put back when all is
// ready.
func (m *Mux) park(id uint64) {
	m.mu.Lock()
	c := m.calls[id]
	if c == nil || c.waitsForHost() || c.parked == nil || len(c.parked.queue) == 0 {
		m.mu.Unlock()
		return
	}
	m.removeLocked(c)
	m.mu.Unlock()

	keep := func() {}
	if c.lease != nil {
		keep = c.lease.Keep()
	}
	line := m.line()
	defer m.give(line)
	m.parkWith(c, line, keep)()
}

// parkWith puts a call back as one that waits for its host, and returns what is
// to be done about that without the lock.
func (m *Mux) parkWith(c *call, line *[]byte, keep func()) (then func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := c.parked
	open := slices.DeleteFunc(a.queue, func(q *Question) bool { return m.questions[q.key] != q })
	switch {
	case c.port.detached, m.failed != nil:
		return func() {
			keep()
			m.giveUp(c.id, "the session has ended")
			m.finish(c)
		}
	case len(open) == 0: // the server took them back
		a.queue = nil
		m.calls[c.id], c.port.calls[c.key] = c, c
		return keep
	}
	var asks []era.Ask
	for i, q := range open {
		q.ask.Key = fmt.Appendf(nil, `"r%d"`, i+1)
		asks = append(asks, q.ask)
	}
	if before := a.keep; before != nil {
		keep = before
	}
	*a = parked{state: statePrefix + rand.Text(), until: time.Now().Add(questionLife), put: open, keep: keep}
	*line = wire.AppendResult(*line, c.hostID, era.InputRequired(asks, a.state, m.info))
	done, method, p := c.done, c.method, c.port
	c.done, c.key, c.hostID, c.token = nil, "", c.hostID[:0], c.token[:0]
	m.calls[c.id], c.port.parked[a.state] = c, c
	m.lookLocked(a.until)
	return func() {
		p.peer.Response(method, *line)
		if done != nil {
			done()
		}
	}
}

// retry takes a modern host's request in that is made once more, with the answers
// to what a legacy server asked: c becomes the call that waits for it. It is
// false for any other request.
func (p *Port) retry(c *call, env *wire.Envelope) (again bool, err *Error) {
	answers, state, ok := era.ReadRetry(env)
	if !ok || state == "" {
		return false, nil // a server's questions without a state are answered beside the call
	}
	lines, keep, err := p.resume(c, answers, state)
	if err != nil {
		return false, err
	}
	if len(lines) > 0 {
		_ = p.m.conn.Write(lines) // a server that does not read gets no answer
	}
	keep()
	if c.level > 0 {
		p.m.tellLevel()
	}
	c.done = nil // of the call that goes on
	p.m.finish(c)
	return true, nil
}

// resume joins a retry to the call that waits for it. The lines are the answers to
// the server.
func (p *Port) resume(c *call, answers []era.Answer, state string) (lines []byte, keep func(), err *Error) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	old := p.parked[state]
	switch {
	case m.failed != nil:
		return nil, nil, m.failed
	case p.calls[c.key] != nil:
		return nil, nil, m.invalid(errTwice)
	case old == nil || old.method != c.method:
		return nil, nil, m.unknownState()
	}
	delete(p.parked, state)
	a := old.parked
	a.state = ""
	if keep = func() {}; c.lease != nil { // else the instance is kept until the call is over
		keep, a.keep = a.keep, nil
	}
	old.key, old.hostID, old.token = c.key, append(old.hostID, c.hostID...), append(old.token, c.token...)
	old.caps, old.level = append(old.caps[:0], c.caps...), c.level
	old.timeout, old.max, old.done, old.lease = c.timeout, c.max, c.done, c.lease
	p.calls[old.key] = old
	for i, q := range a.put {
		result := answerTo(answers, fmt.Sprintf("r%d", i+1))
		switch {
		case m.questions[q.key] != q:
		case result == nil:
			a.queue = append(a.queue, q)
		default:
			m.closeLocked(q)
			lines = wire.AppendResult(lines, q.id, result)
		}
	}
	a.put = nil
	now, id := time.Now(), old.id
	if old.last = (time.Time{}); old.max > 0 {
		old.last = now.Add(old.max)
	}
	if old.alive(now); !old.deadline.IsZero() {
		m.lookLocked(old.deadline)
	}
	if a.answer != nil || len(a.queue) > 0 {
		m.laterLocked(func() { m.continued(id) })
	}
	return lines, keep, nil
}

func answerTo(answers []era.Answer, key string) []byte {
	for _, a := range answers {
		if text, _ := wire.Text(a.Key); text == key {
			return a.Result
		}
	}
	return nil
}

// continued gives a host that has come back what has been waiting for it.
func (m *Mux) continued(id uint64) {
	m.mu.Lock()
	c := m.calls[id]
	if c == nil || c.waitsForHost() || c.parked == nil || c.parked.answer == nil {
		m.mu.Unlock()
		m.park(id)
		return
	}
	m.removeLocked(c)
	m.mu.Unlock()
	if env, err := wire.Scan(c.parked.answer); err == nil { // it was read before
		m.deliver(c, &env)
	}
}

// parkedLocked keeps the server's answer to a call that waits for its host; false
// when it does not.
func (m *Mux) parkedLocked(c *call, env *wire.Envelope) bool {
	switch {
	case c.parked == nil, !c.waitsForHost() && c.parked.answer == nil:
		return false
	case c.parked.answer != nil:
		m.stats.Dropped++
	default:
		c.parked.answer = bytes.Clone(env.Line)
	}
	return true
}

// unask ends what was asked about a call that is over.
func (m *Mux) unask(c *call) {
	m.mu.Lock()
	open := m.questionsLocked(func(q *Question) bool { return q.call == c.id })
	m.mu.Unlock()
	m.abandon(open, "the request is over")
	if c.parked != nil && c.parked.keep != nil {
		c.parked.keep()
	}
}

// unknownState is for a state that the host was not given, or has used.
func (m *Mux) unknownState() *Error {
	msg := "unknown requestState: it is another request's, was used before, or is too old"
	return &Error{Code: wire.CodeInvalidParams, Msg: msg, Reason: msg, Server: m.server}
}

// Parked reports whether the host is to make a request of this port once more:
// with this state, or "" for any.
func (p *Port) Parked(state string) bool {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.parked[state] != nil || state == "" && len(p.parked) > 0
}

// IsParked reports whether a request's state is one that a port gave.
func IsParked(state string) bool { return strings.HasPrefix(state, statePrefix) }
