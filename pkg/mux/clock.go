package mux

import (
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

// kind is a kind of list that may change.
type kind int

const (
	tools kind = iota
	prompts
	resources
	kinds
)

var kindNames = [kinds]string{"tools", "prompts", "resources"}

// coalesce is how long a burst of list_changed is gathered (W7).
const coalesce = 50 * time.Millisecond

// clock does what is due at a time, or not from the goroutine of a caller:
// bursts, timeouts, answers of our own. There is one, and it sleeps until the
// earliest.
func (m *Mux) clock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-m.wake:
		case <-m.ended:
			m.tick(time.Now())
			return
		}
		if next := m.tick(time.Now()); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// lookLocked makes the clock look at the time at, unless it does so earlier.
func (m *Mux) lookLocked(at time.Time) {
	if !m.next.IsZero() && !at.Before(m.next) {
		return
	}
	m.next = at
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// tick does what is due and says when something is next, zero for never.
func (m *Mux) tick(now time.Time) (next time.Time) {
	m.mu.Lock()
	said, at := m.listenLocked(now)
	local := m.local
	m.local = nil
	changed := m.changedLocked(now)
	late := m.lateLocked(now)
	again := m.restedLocked(now)
	said = append(said, m.relaxedLocked(now)...)
	var lines []heldLine
	if m.held.overdue(now) {
		lines = m.takenLocked()
	}
	unanswered := m.questionsLocked(func(q *Question) bool { return !q.deadline.After(now) })
	next = m.nextLocked(at)
	m.next = next
	listeners, ports := m.listeners, append([]*Port(nil), m.ports...)
	m.mu.Unlock()

	if len(said) > 0 {
		_ = m.conn.Write(said) // a server that does not read is not listened to
	}
	m.release(lines)
	for _, f := range local {
		f()
	}
	for _, k := range changed {
		announce(kindNames[k], listeners, ports)
	}
	for _, c := range late {
		if c.withServer() {
			m.giveUp(c.id, "timed out")
		}
		m.reject(c, m.timedOut(c))
	}
	for _, id := range again {
		m.resend(id)
	}
	why := "the host did not answer within " + questionLife.String()
	m.abandon(unanswered, why)
	for _, q := range unanswered {
		if q.id == nil {
			m.failCall(q.call, m.internal("%s", why))
		}
	}
	return next
}

// changedLocked takes the kinds whose burst is over.
func (m *Mux) changedLocked(now time.Time) (changed []kind) {
	for k := range kinds {
		if at := m.due[k]; !at.IsZero() && !at.After(now) {
			m.due[k] = time.Time{}
			changed = append(changed, k)
		}
	}
	return changed
}

// lateLocked takes the calls whose time is over (report F6). While
// the session has a question of the server's before it, its calls wait for that.
func (m *Mux) lateLocked(now time.Time) (late []*call) {
	for _, c := range m.calls {
		if at := c.ends(); !at.IsZero() && !at.After(now) {
			late = append(late, c)
		}
	}
	for _, c := range late {
		m.removeLocked(c)
		m.hauntLocked(c, now)
	}
	m.stats.Errors += int64(len(late))
	return late
}

func (m *Mux) nextLocked(first time.Time) (next time.Time) {
	next = first
	earlier := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, at := range m.due {
		earlier(at)
	}
	for _, c := range m.calls {
		earlier(c.ends())
		if c.round != nil {
			earlier(c.round.rest)
		}
	}
	earlier(m.quiet)
	earlier(m.held.until)
	for _, q := range m.questions {
		earlier(q.deadline)
	}
	return next
}

// ends is when the call is over without an answer, zero for never: while it is
// the host's turn to speak, the server is given time.
func (c *call) ends() time.Time {
	switch {
	case c.waitsForHost():
		return c.parked.until
	case c.port != nil && c.port.questions > 0:
		return time.Time{}
	}
	return c.deadline
}

// listChanged begins a burst, or is part of one.
func (m *Mux) listChanged(k kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.due[k].IsZero() {
		m.due[k] = time.Now().Add(coalesce)
		m.lookLocked(m.due[k])
		return
	}
	m.stats.Excess++
}

func announce(kind string, listeners []func(string), ports []*Port) {
	for _, f := range listeners {
		f(kind)
	}
	method := "notifications/" + kind + "/list_changed"
	line := wire.AppendNotification(nil, method, nil)
	for _, p := range ports {
		p.peer.Notification(method, line)
	}
}

// answerLocally has the clock answer c with an empty result: a caller of Request
// is not called back before Request returns.
func (m *Mux) answerLocally(c *call) *Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	m.laterLocked(func() { m.answer(c) })
	return nil
}

// laterLocked has the clock do something soon.
func (m *Mux) laterLocked(f func()) {
	m.local = append(m.local, f)
	select {
	case m.wake <- struct{}{}:
	default: // it is about to look
	}
}

func (m *Mux) answer(c *call) {
	line := m.line()
	*line = wire.AppendResult(*line, c.hostID, []byte("{}"))
	c.port.peer.Response(c.method, *line)
	m.give(line)
	m.finish(c)
}
