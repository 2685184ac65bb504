package mux

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// prepare does what a request means to mcpx itself before it is sent, and says
// whether it is sent at all. The edit is part of what is sent.
func (p *Port) prepare(c *call, env *wire.Envelope, given []wire.Edit) (edit wire.Edit, forward bool, err *Error) {
	if !p.m.understands(c) {
		return edit, false, &Error{Code: wire.CodeMethodNotFound, Msg: "method not found: " + c.method}
	}
	switch c.method {
	case "ping":
		return edit, false, nil
	case "initialize", "server/discover":
		return edit, false, p.m.invalid(c.method + " is not forwarded: the server has had its handshake")
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		if c.taskID = textAt(env, env.TaskID, given); !p.m.owns(p, c.taskID) {
			return edit, false, p.m.unknownTask(c.taskID)
		}
		if c.method == "tasks/result" {
			c.timeout = 0 // it waits for the task, which says itself how it is
		}
	case "resources/subscribe":
		p.subscribe(c, env.Text(env.URI))
		return edit, !p.m.modern(), nil
	case "resources/unsubscribe":
		return edit, p.unsubscribe(env.Text(env.URI)) && !p.m.modern(), nil
	case "logging/setLevel":
		edit, forward = p.setLevel(c, env)
		return edit, forward, nil
	}
	return edit, true, nil
}

// understands reports whether a request means to the server what it means to its
// host. Tasks are in both eras, and are not the same; a listen is mcpx's own.
func (m *Mux) understands(c *call) bool {
	switch {
	case c.modern && !era.Has(true, c.method):
		return false
	case m.modern() && c.method == "subscriptions/listen":
		return false
	case c.modern != m.modern() && strings.HasPrefix(c.method, "tasks/"):
		return false
	}
	return true
}

// textAt is the text at s as the server will read it.
func textAt(env *wire.Envelope, s wire.Span, given []wire.Edit) string {
	for _, e := range given {
		if e.At == s {
			text, _ := wire.Text(e.With)
			return text
		}
	}
	return env.Text(s)
}

// subscribe notes who is to hear of uri. It is always forwarded, so that the
// server can refuse; then the note is taken back (W8).
func (p *Port) subscribe(c *call, uri string) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.subs[uri], p) {
		return
	}
	m.subs[uri] = append(m.subs[uri], p)
	m.rewantLocked()
	c.refused = func() { m.dropSubLocked(uri, p) }
}

// unsubscribe takes p off uri. It is forwarded only when nobody else is
// subscribed: the server knows one subscriber.
func (p *Port) unsubscribe(uri string) (forward bool) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.m.dropSubLocked(uri, p)
	return len(p.m.subs[uri]) == 0
}

func (m *Mux) dropSubLocked(uri string, p *Port) {
	rest := slices.DeleteFunc(m.subs[uri], func(q *Port) bool { return q == p })
	if len(rest) == 0 {
		if _, had := m.subs[uri]; had {
			delete(m.subs, uri)
			m.rewantLocked()
		}
	} else {
		m.subs[uri] = rest
	}
}

// unsubscribeAllLocked takes p off every URI. It returns the lines that tell the
// server of those nobody hears of any more; no call waits for their answers.
func (m *Mux) unsubscribeAllLocked(p *Port) (lines []byte) {
	for uri, subscribers := range m.subs {
		if !slices.Contains(subscribers, p) {
			continue
		}
		m.dropSubLocked(uri, p)
		if len(m.subs[uri]) == 0 && !m.modern() {
			params := append(wire.AppendString([]byte(`{"uri":`), uri), '}')
			lines = m.appendOwnLocked(lines, "resources/unsubscribe", params)
		}
	}
	return lines
}

// appendOwnLocked appends a request whose answer nobody waits for.
func (m *Mux) appendOwnLocked(dst []byte, method string, params []byte) []byte {
	m.lastID++
	return wire.AppendRequest(dst, strconv.AppendUint(nil, m.lastID, 10), method, params)
}

// subscribersLocked are those of the URI, or of one it lies under: a server may
// say that a part of what was subscribed to has changed.
func (m *Mux) subscribersLocked(env *wire.Envelope, to []*Port) []*Port {
	uri := env.Text(env.URI)
	for sub, ports := range m.subs {
		if uri != sub && !strings.HasPrefix(uri, strings.TrimSuffix(sub, "/")+"/") {
			continue
		}
		for _, p := range ports {
			if !slices.Contains(to, p) {
				to = append(to, p)
			}
		}
	}
	return to
}
