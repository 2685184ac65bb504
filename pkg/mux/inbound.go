package mux

import (
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// The most that is passed on of what a server may repeat without end (threat T34).
const (
	progressPerSecond = 200 // of one call
	logsPerSecond     = 100
)

// handle is the reader: it sees every message of the upstream, in order.
func (m *Mux) handle(env *wire.Envelope) {
	switch env.Kind {
	case wire.Result, wire.Error:
		m.response(env)
	case wire.Notification:
		m.notification(env)
		m.breathe()
	case wire.Request:
		m.question(env)
	}
}

// response gives an answer to the one who asked, under his own id (W2).
func (m *Mux) response(env *wire.Envelope) {
	id, _ := wire.Uint(env.Bytes(env.ID))
	if m.modern() && m.inquired(env, id) {
		return
	}
	m.mu.Lock()
	if id != 0 && id == m.held.level {
		lines := m.takenLocked()
		m.mu.Unlock()
		m.release(lines)
		return
	}
	c := m.calls[id]
	if c == nil || c.round != nil { // a round's id was not sent yet
		if !m.unlistenedLocked(env, id) {
			m.stats.Dropped++
			m.layLocked(id)
		}
		m.mu.Unlock()
		return
	}
	if m.parkedLocked(c, env) {
		m.mu.Unlock()
		return
	}
	m.removeLocked(c)
	if env.Kind == wire.Error {
		m.stats.Errors++
		if c.refused != nil {
			c.refused()
		}
	}
	m.mu.Unlock()
	m.deliver(c, env)
}

func (m *Mux) notification(env *wire.Envelope) {
	switch method := methodOf(env); method {
	case "notifications/subscriptions/acknowledged": // whom it concerns has been told so by mcpx
		m.acknowledged()
	case "notifications/progress":
		m.progress(env, method)
	case "notifications/message":
		m.fanOut(env, method, m.readersLocked)
	case "notifications/resources/updated":
		m.fanOut(env, method, m.subscribersLocked)
	case "notifications/tools/list_changed":
		m.listChanged(tools)
	case "notifications/prompts/list_changed":
		m.listChanged(prompts)
	case "notifications/resources/list_changed":
		m.listChanged(resources)
	case "notifications/cancelled":
		m.takenBack(env)
	case "notifications/elicitation/complete":
		m.elicitationDone(env, method)
	case "notifications/tasks/status", "notifications/tasks":
		m.taskNews(env, method)
	default:
		m.unknown(env, method)
	}
}

// progress goes to the caller that asked for it, under its own token, while the
// call is in flight, or its task is not over, and never after (W3, report E4).
func (m *Mux) progress(env *wire.Envelope, method string) {
	id, _ := wire.Uint(env.Bytes(env.Token))
	now := time.Now()
	line := m.line()
	defer m.give(line)
	m.mu.Lock()
	p, token := m.progressLocked(id, now)
	if p != nil {
		*line = env.Append(*line, wire.Edit{At: env.Token, With: token})
	}
	m.mu.Unlock()
	if p != nil {
		p.peer.Notification(method, *line)
	}
}

// fanOut passes a notification on as it is, to the ports that choose finds with
// mu held.
func (m *Mux) fanOut(env *wire.Envelope, method string, choose func(env *wire.Envelope, to []*Port) []*Port) {
	m.mu.Lock()
	m.targets = choose(env, m.targets[:0])
	if len(m.targets) == 0 {
		m.stats.Dropped++
	}
	m.mu.Unlock()
	if len(m.targets) == 0 {
		return
	}
	line := m.line()
	defer m.give(line)
	*line = env.Append(*line, era.Unstamped(nil, env)...)
	for _, p := range m.targets {
		p.peer.Notification(method, *line)
	}
	clear(m.targets)
}

// unknown passes on what mcpx does not know: to the owner of the call it names,
// else to the one session there is, else to nobody (W13).
func (m *Mux) unknown(env *wire.Envelope, method string) {
	m.mu.Lock()
	c, named := m.namedLocked(env)
	var to Peer
	var edits []wire.Edit
	switch {
	case c != nil && c.port != nil:
		to = c.port.peer
		edits = append(edits, restore(env.RequestID, c.hostID), restore(env.Token, c.token))
	case !named && len(m.ports) == 1:
		to = m.ports[0].peer
	default:
		m.stats.Dropped++
		m.mu.Unlock()
		return
	}
	line := m.line()
	defer m.give(line)
	*line = env.Append(*line, era.Unstamped(edits, env)...)
	m.mu.Unlock()
	to.Notification(method, *line)
}

// namedLocked finds the call that a notification names by id or by token. named
// says that it names one, known or not.
func (m *Mux) namedLocked(env *wire.Envelope) (c *call, named bool) {
	for _, at := range [...]wire.Span{env.RequestID, env.Token} {
		if id, ok := wire.Uint(env.Bytes(at)); ok {
			return m.calls[id], true
		}
	}
	return nil, false
}

// restore puts back what the host wrote, if it wrote something.
func restore(at wire.Span, with []byte) wire.Edit {
	if len(with) == 0 {
		return wire.Edit{}
	}
	return wire.Edit{At: at, With: with}
}

// methodOf is the method of env. The usual ones cost no allocation.
func methodOf(env *wire.Envelope) string {
	raw := env.Bytes(env.Method)
	for _, name := range methods {
		if len(raw) == len(name)+2 && string(raw[1:len(raw)-1]) == name {
			return name
		}
	}
	return env.Text(env.Method)
}

var methods = [...]string{
	"tools/call", "notifications/progress", "notifications/message", "tools/list",
	"resources/read", "resources/list", "resources/templates/list", "prompts/get", "prompts/list",
	"completion/complete", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
	"notifications/cancelled", "notifications/resources/updated",
	"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
}
