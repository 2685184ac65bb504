package mux

import (
	"slices"

	"github.com/dezren39/mcpx/pkg/wire"
)

// Subscriptions are the resources that the port is subscribed to.
func (p *Port) Subscriptions() (uris []string) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	for uri, ports := range m.subs {
		if slices.Contains(ports, p) {
			uris = append(uris, uri)
		}
	}
	slices.Sort(uris)
	return uris
}

// Replay tells the server what the session had told one before it: the level of
// its log, "" for none, and its subscriptions (W8, W9). What the server says to
// that concerns nobody.
func (p *Port) Replay(level string, uris []string) {
	p.send.Lock()
	defer p.send.Unlock()
	if lines := p.replay(level, uris); len(lines) > 0 {
		_ = p.m.conn.Write(lines) // a server that takes no more lines has ended, and the next is told
	}
}

func (p *Port) replay(level string, uris []string) (lines []byte) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.detached {
		return nil
	}
	if asked := levelOf(level); asked != 0 {
		p.level = asked
		if m.modern() {
			p.meta.LogLevel = levels[asked]
			p.extra = p.meta.Extra()
		} else if want := m.mostVerboseLocked(); want != m.level {
			m.level = want
			params := append(wire.AppendString([]byte(`{"level":`), levels[want]), '}')
			lines = m.appendOwnLocked(lines, "logging/setLevel", params)
		}
	}
	for _, uri := range uris {
		if slices.Contains(m.subs[uri], p) {
			continue
		}
		if m.subs[uri] = append(m.subs[uri], p); m.modern() {
			m.rewantLocked()
		} else if len(m.subs[uri]) == 1 {
			params := append(wire.AppendString([]byte(`{"uri":`), uri), '}')
			lines = m.appendOwnLocked(lines, "resources/subscribe", params)
		}
	}
	return lines
}
