package mux

import (
	"bytes"
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// questionLife is how long a host may take to answer a server: a person may be
// at it.
const questionLife = 10 * time.Minute

// maxQuestions is how many a server may have open: more is a storm (threat T34).
const maxQuestions = 100

// codeURLElicitation is the error by which a server of 2025-11-25 asks for an
// address to be opened before a call is made again.
const codeURLElicitation = -32042

// Question is a request of the server's that was put to a session (W5). It ends
// with its answer, or when it is withdrawn.
type Question struct {
	m        *Mux
	port     *Port
	key      string // canonical id, in Mux.questions
	id       []byte // as the server sent it; nil for one of a modern server's
	deadline time.Time

	// A modern peer asks and is asked in the answer to a call; 0 for none. What is
	// asked is the one of the asks of its round, or itself for a modern host.
	call uint64
	at   int
	ask  era.Ask
}

// question puts a request of the server's to the session it concerns, or refuses
// it at once when that is not certain: a wrong person asked is worse (W6).
func (m *Mux) question(env *wire.Envelope) {
	id := env.Bytes(env.ID)
	key, ok := wire.CanonicalID(id)
	if !ok {
		m.refuse(id, m.invalid("the id is neither a string nor an integer"))
		return
	}
	q := &Question{m: m, key: key, id: bytes.Clone(id), deadline: time.Now().Add(questionLife)}
	method := methodOf(env)
	if err := m.ask(q, env, method); err != nil {
		m.refuse(id, err)
		return
	}
	if q.call != 0 {
		m.park(q.call)
		return
	}
	q.port.peer.Ask(method, q, env)
}

// ask enters q into the table.
func (m *Mux) ask(q *Question, env *wire.Envelope, method string) *Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.questions[q.key] != nil {
		return m.invalid("a request with this id is in flight")
	}
	if len(m.questions) == maxQuestions {
		return m.internal("%d requests of this server are unanswered, and that is the limit", maxQuestions)
	}
	port, err := m.concerned(m.askableLocked(env), method)
	if err != nil {
		m.stats.Refused++
		return err
	}
	if err := m.attachLocked(q, port, env, method); err != nil {
		m.stats.Refused++
		return err
	}
	m.openLocked(q, port)
	if id := env.Text(env.ElicitationID); id != "" {
		m.elicits.note(id, port)
	}
	return nil
}

func (m *Mux) openLocked(q *Question, p *Port) {
	q.port = p
	m.questions[q.key] = q
	p.questions++
	m.lookLocked(q.deadline)
}

// askableLocked is what is known of who may be meant by a question.
func (m *Mux) askableLocked(env *wire.Envelope) (a askable) {
	a.asking = m.asking
	for _, p := range m.ports {
		if len(p.calls)+len(p.parked) > 0 {
			a.calling = append(a.calling, p)
		}
	}
	a.attached = m.ports
	a.ghosts = m.ghostsLocked(time.Now())
	if t := m.tasks.byID[env.Text(env.RelatedTaskID)]; t != nil && !t.port.detached {
		a.related = t.port
	}
	return a
}

// concerned is the session that a request with this method is for.
func (m *Mux) concerned(a askable, method string) (*Port, *Error) {
	port, verdict := decideAsk(a, method)
	switch verdict {
	case notOffered:
		return nil, &Error{Code: wire.CodeMethodNotFound, Msg: "method not found: " + method}
	case ambiguous:
		return nil, m.internal("ambiguous requester: it is not certain which session %q is for", method)
	}
	return port, nil
}

// refuse answers a request of the server's with an error of ours.
func (m *Mux) refuse(id []byte, e *Error) {
	line := m.line()
	defer m.give(line)
	*line = e.Append(*line, id)
	_ = m.conn.Write(*line) // a server that does not read gets no answer
}

// Answer gives the server the host's response, under the server's own id. Of a
// question that is over it does nothing.
func (q *Question) Answer(env *wire.Envelope) {
	m := q.m
	if q.id == nil {
		m.answerRound(q, env)
		return
	}
	if !m.close(q) {
		return
	}
	line := m.line()
	defer m.give(line)
	*line = env.Append(*line, wire.Edit{At: env.ID, With: q.id})
	_ = m.conn.Write(*line) // a server that does not read gets no answer
}

// Refuse answers in the host's place: it does not have what was asked for.
func (q *Question) Refuse(code int, msg string) {
	if q.id == nil {
		q.m.failRound(q, q.m.internal("the server asks the host: %s", msg))
		return
	}
	if q.m.close(q) {
		q.m.refuse(q.id, &Error{Code: code, Msg: msg})
	}
}

// Open reports whether the server still waits for the answer.
func (q *Question) Open() bool {
	q.m.mu.Lock()
	defer q.m.mu.Unlock()
	return q.m.questions[q.key] == q
}

// close takes q out of the table; false when it was no longer there.
func (m *Mux) close(q *Question) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.questions[q.key] != q {
		return false
	}
	m.closeLocked(q)
	return true
}

// closeLocked ends q. While it was open nobody's call was idle, so the time of
// the session's calls begins anew.
func (m *Mux) closeLocked(q *Question) {
	delete(m.questions, q.key)
	q.port.questions--
	if c := m.calls[q.call]; c != nil && c.parked != nil {
		c.parked.queue = slices.DeleteFunc(c.parked.queue, func(o *Question) bool { return o == q })
	}
	now := time.Now()
	for _, c := range q.port.calls {
		if c.alive(now); !c.deadline.IsZero() {
			m.lookLocked(c.deadline)
		}
	}
}

// questionsLocked takes the questions that match out of the table.
func (m *Mux) questionsLocked(match func(*Question) bool) (open []*Question) {
	for _, q := range m.questions {
		if match(q) {
			open = append(open, q)
		}
	}
	for _, q := range open {
		m.closeLocked(q)
	}
	return open
}

// takenBack tells the host that the server has given up on its question.
func (m *Mux) takenBack(env *wire.Envelope) {
	key, ok := wire.CanonicalID(env.Bytes(env.RequestID))
	if !ok {
		return
	}
	m.mu.Lock()
	q := m.questions[key]
	if q != nil {
		m.closeLocked(q)
	}
	m.mu.Unlock()
	if q != nil {
		q.withdraw(env)
	}
}

// withdraw tells the session that q is over, if it was told of q.
func (q *Question) withdraw(env *wire.Envelope) {
	if q.id == nil || q.call == 0 {
		q.port.peer.Withdraw(q, env)
	}
}

// abandon ends questions whose host will not answer.
func (m *Mux) abandon(open []*Question, why string) {
	for _, q := range open {
		q.withdraw(nil)
		if q.id != nil {
			m.refuse(q.id, m.internal("%s", why))
		}
	}
}

// elicited notes whose the elicitations are that a call's error asks for (W11).
func (m *Mux) elicited(env *wire.Envelope, port *Port) {
	e := m.answered(env.Bytes(env.Error))
	if e.Code != codeURLElicitation {
		return
	}
	all, _ := wire.Member(e.Data, "elicitations")
	for el := range wire.Elements(e.Data[all.Start:all.End]) {
		one := e.Data[all.Start:all.End][el.Start:el.End]
		if at, ok := wire.Member(one, "elicitationId"); ok {
			if id, ok := wire.Text(one[at.Start:at.End]); ok {
				m.mu.Lock()
				m.elicits.note(id, port)
				m.mu.Unlock()
			}
		}
	}
}

// elicitationDone passes notifications/elicitation/complete to the session that
// was asked (W11).
func (m *Mux) elicitationDone(env *wire.Envelope, method string) {
	id := env.Text(env.ElicitationID)
	m.fanOut(env, method, func(_ *wire.Envelope, to []*Port) []*Port {
		if p := m.elicits.owner(id); p != nil && !p.detached {
			return append(to, p)
		}
		return to
	})
}
