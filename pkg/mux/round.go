package mux

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// round is what a modern server asked in answer to a call of a legacy host's.
// When all of it is answered, the call is made once more (MRTR, protocol §1.4).
type round struct {
	asks    []era.Ask
	answers []era.Answer // of the same places
	state   []byte       // as sent, nil for none
	open    int          // asks that the host has not answered
	rest    time.Time    // the server asks for nothing but patience, until then
}

const (
	maxRounds = 10
	loadPause = 250 * time.Millisecond // before a server that had no time is asked again; twice as long each time
	loadMost  = 4 * time.Second
)

// note keeps what a modern server was sent, for a call about which it may ask.
func (m *Mux) note(id uint64, line []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.calls[id]; c != nil {
		c.line = append(c.line[:0], line...)
	}
}

// inquired takes an answer in that only asks; false when env is another, or to a
// modern host, which takes it itself.
func (m *Mux) inquired(env *wire.Envelope, id uint64) bool {
	if env.Kind != wire.Result || era.TypeOf(env) != era.ResultInputRequired {
		return false
	}
	m.mu.Lock()
	c := m.calls[id]
	if c == nil || c.port == nil || c.modern {
		m.mu.Unlock()
		return false
	}
	method := c.method
	m.mu.Unlock()

	r := &round{}
	var err error
	if r.asks, r.state, err = era.ReadInputRequired(method, bytes.Clone(env.Bytes(env.Result))); err != nil {
		m.failCall(id, m.internal("the server's answer is not valid: %v", err))
		return true
	}
	questions, next, failed := m.beginRound(id, r)
	switch {
	case failed != nil:
		m.failCall(id, failed)
	case len(questions) == 0 && len(r.asks) > 0:
		m.resend(next)
	}
	for _, q := range questions {
		m.put(q, r.asks[q.at])
	}
	return true
}

// beginRound gives the call the next id, under which it will be made once more,
// and answers what mcpx can. What remains is for the host.
func (m *Mux) beginRound(id uint64, r *round) (questions []*Question, next uint64, failed *Error) {
	roots := m.conn.Roots()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil {
		return nil, 0, nil
	}
	if failed := m.refusedLocked(c, r, roots); failed != nil {
		return nil, 0, failed
	}
	delete(m.calls, id)
	m.lastID++
	c.id, c.round, next = m.lastID, r, m.lastID
	m.calls[c.id] = c
	now := time.Now()
	r.answers = make([]era.Answer, len(r.asks))
	for i, a := range r.asks {
		r.answers[i].Key = a.Key
		if a.Method == "roots/list" {
			r.answers[i].Result = roots
			continue
		}
		q := &Question{m: m, key: fmt.Sprintf("r%d.%d", c.id, i), deadline: now.Add(questionLife), call: c.id, at: i}
		m.openLocked(q, c.port)
		questions = append(questions, q)
	}
	r.open = len(questions)
	if len(r.asks) == 0 {
		r.rest = now.Add(min(loadPause<<(c.asks-1), loadMost))
		m.lookLocked(r.rest)
	}
	if c.alive(now); !c.deadline.IsZero() {
		m.lookLocked(c.deadline)
	}
	return questions, next, nil
}

// refusedLocked is why a server is not answered what it asks; nil when it is.
func (m *Mux) refusedLocked(c *call, r *round, roots []byte) *Error {
	if c.asks++; c.asks > maxRounds {
		return m.internal("the server has asked %d times and not answered", maxRounds)
	}
	caps := c.port.meta.Capabilities
	if m.asking == AskNever {
		caps = nil
	}
	host := 0
	for _, a := range r.asks {
		if a.Method == "roots/list" {
			if roots == nil {
				return m.internal("the server asks for roots, which it was not offered")
			}
			continue
		}
		if refusal := era.Lacks(caps, a); refusal != nil {
			return m.internal("%s", refusal.Msg)
		}
		host++
	}
	if c.port.questions+host > maxQuestions {
		return m.internal("%d questions to the host are unanswered, and that is the limit", maxQuestions)
	}
	return nil
}

// put puts one question of a round to the host, as a legacy server would.
func (m *Mux) put(q *Question, a era.Ask) {
	if !q.Open() {
		return // another of the round has failed it
	}
	id := wire.AppendString(nil, q.key)
	if a.Params == nil {
		a.Params = []byte("{}") // a place for who asks, under a roof
	}
	line := wire.AppendRequest(nil, id, a.Method, a.Params)
	if env, err := wire.Scan(line[:len(line)-1]); err != nil {
		m.failRound(q, m.internal("the server asks for %s in a way that is not valid: %v", a.Method, err))
	} else {
		q.port.peer.Ask(a.Method, q, &env)
	}
}

// answerRound takes the host's answer to one question in. An error has no place
// in a retry, so it ends the call.
func (m *Mux) answerRound(q *Question, env *wire.Envelope) {
	if env.Kind == wire.Error {
		e := m.answered(env.Bytes(env.Error))
		m.failRound(q, m.internal("the host has answered the server's question with an error: %s", e.Msg))
		return
	}
	m.mu.Lock()
	if m.questions[q.key] != q {
		m.mu.Unlock()
		return
	}
	m.closeLocked(q)
	if c := m.calls[q.call]; c != nil { // else it is just over
		c.round.answers[q.at].Result = bytes.Clone(env.Bytes(env.Result))
		c.round.open--
	}
	m.mu.Unlock()
	m.resend(q.call)
}

// failRound ends the call of a question that is still open, with an error.
func (m *Mux) failRound(q *Question, e *Error) {
	if m.close(q) {
		m.failCall(q.call, e)
	}
}

func (m *Mux) failCall(id uint64, e *Error) {
	if c := m.take(id); c != nil {
		m.mu.Lock()
		m.stats.Errors++
		m.mu.Unlock()
		m.reject(c, e)
	}
}

// restedLocked are the calls to a server that had no time, and may have by now.
func (m *Mux) restedLocked(now time.Time) (ids []uint64) {
	for id, c := range m.calls {
		if c.round != nil && !c.round.rest.IsZero() && !c.round.rest.After(now) {
			c.round.rest = time.Time{}
			ids = append(ids, id)
		}
	}
	return ids
}

// resend makes a call once more, with the answers, if all are there.
func (m *Mux) resend(id uint64) {
	m.mu.Lock()
	c := m.calls[id]
	if c == nil {
		m.mu.Unlock()
		return
	}
	p := c.port
	m.mu.Unlock()
	if err := m.sendAgain(p, id); err != nil {
		m.failCall(id, m.unwritten(err))
	}
}

func (m *Mux) sendAgain(p *Port, id uint64) error {
	p.send.Lock() // so that a cancellation follows it
	defer p.send.Unlock()
	m.mu.Lock()
	c := m.calls[id]
	if c == nil || c.round == nil || c.round.open > 0 {
		m.mu.Unlock()
		return nil
	}
	r, line := c.round, bytes.Clone(c.line)
	c.round = nil // it is with the server again
	m.mu.Unlock()
	line, err := retried(line, id, r)
	if err != nil {
		return err
	}
	m.note(id, line)
	return m.conn.Write(line)
}

// retried is the line of a call as it is made once more, under the id.
func retried(line []byte, id uint64, r *round) ([]byte, error) {
	n := strconv.AppendUint(nil, id, 10)
	for _, edits := range []func(*wire.Envelope) []wire.Edit{
		func(env *wire.Envelope) []wire.Edit {
			return []wire.Edit{{At: env.ID, With: n}, {At: env.ProgressToken, With: n}}
		},
		func(env *wire.Envelope) []wire.Edit {
			return []wire.Edit{{At: env.Params, With: era.Retry(env.Bytes(env.Params), r.answers, r.state)}}
		},
	} {
		env, err := wire.Scan(bytes.TrimRight(line, "\n"))
		if err != nil {
			return nil, err
		}
		line = env.Append(nil, edits(&env)...)
	}
	return line, nil
}
