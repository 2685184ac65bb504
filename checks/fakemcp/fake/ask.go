package fake

import (
	"encoding/json"
	"fmt"
	"time"
)

// question is a request of the server's own, under way to the client.
type question struct {
	id     any
	answer chan message
}

// put sends the client a request.
func (s *server) put(prefix, method string, params any) question {
	s.mu.Lock()
	s.nextID++
	var id any = 7000 + s.nextID
	switch {
	case s.reuseIDs:
		id = s.nextID
	case prefix != "":
		id = fmt.Sprintf("%s-%d", prefix, s.nextID)
	}
	q := question{id: id, answer: make(chan message, 1)}
	s.pending[q.key()] = q.answer
	s.mu.Unlock()
	m := object{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	s.write(m)
	return q
}

// key is the id as an answer has it.
func (q question) key() string {
	b, _ := json.Marshal(q.id)
	return string(b)
}

// take gives an answer of the client's to the question that waits for it.
func (s *server) take(m message) {
	s.mu.Lock()
	ch := s.pending[string(m.ID)]
	delete(s.pending, string(m.ID))
	s.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

// ask sends a request to the client and waits for its answer, 30 s at most.
func (s *server) ask(method string, params any) string {
	select {
	case r := <-s.put("", method, params).answer:
		if len(r.Error) > 0 {
			return "error " + string(r.Error)
		}
		return string(r.Result)
	case <-time.After(30 * time.Second):
		return "no answer to " + method
	}
}

// askInCall is the tool ask: a request of -ask's method while the call waits.
// The call is answered with the client's whole line, or with "cancelled" when
// -ask-cancel took the question back; a call that is cancelled takes it back too.
func (s *server) askInCall(p params, cancelled <-chan struct{}) (string, outcome) {
	var given any
	if p.Arguments.Params != nil {
		given = p.Arguments.Params
	}
	q := s.put("ask", s.askMethod, given)
	var late <-chan time.Time
	if s.askCancel > 0 {
		late = time.After(s.askCancel)
	}
	select {
	case r := <-q.answer:
		return string(r.line), answered
	case <-late:
		s.takeBack(q)
		return "cancelled", answered
	case <-cancelled:
		s.takeBack(q)
		s.note("cancelled", nil)
		return "", unanswered
	}
}

func (s *server) takeBack(q question) {
	s.mu.Lock()
	delete(s.pending, q.key())
	s.mu.Unlock()
	s.notify("notifications/cancelled", object{"requestId": q.id, "reason": "taken back"})
}
