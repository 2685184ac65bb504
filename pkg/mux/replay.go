package mux

import (
	"context"
	"slices"
	"sync"

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
// its log, "" for none, and its subscriptions (W8, W9). It does not wait, and what
// the server says to that concerns nobody.
func (p *Port) Replay(level string, uris []string) {
	p.send.Lock()
	defer p.send.Unlock()
	var lines []byte
	for _, own := range p.note(level, uris) {
		lines = p.m.appendOwn(lines, own.method, own.params)
	}
	if len(lines) > 0 {
		_ = p.m.conn.Write(lines) // a server that takes no more lines has ended, and the next is told
	}
}

// Tell is Replay for what a host says now: what it asks next comes behind it. It
// waits for the server, until ctx ends.
func (p *Port) Tell(ctx context.Context, level string, uris []string) {
	var all sync.WaitGroup
	for _, own := range p.note(level, uris) {
		all.Go(func() { _, _ = p.m.Call(ctx, own.method, own.params) }) // what it refuses it does not have
	}
	all.Wait()
}

// own is a request of mcpx's own.
type own struct {
	method string
	params []byte
}

// note takes down what the session wants to hear, and returns what the server has
// to be told of it.
func (p *Port) note(level string, uris []string) (requests []own) {
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
			requests = append(requests, own{"logging/setLevel", append(wire.AppendString([]byte(`{"level":`), levels[want]), '}')})
		}
	}
	for _, uri := range uris {
		if slices.Contains(m.subs[uri], p) {
			continue
		}
		if m.subs[uri] = append(m.subs[uri], p); m.modern() {
			m.rewantLocked()
		} else if len(m.subs[uri]) == 1 {
			requests = append(requests, own{"resources/subscribe", append(wire.AppendString([]byte(`{"uri":`), uri), '}')})
		}
	}
	return requests
}

// appendOwn appends a request whose answer nobody waits for.
func (m *Mux) appendOwn(dst []byte, method string, params []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.appendOwnLocked(dst, method, params)
}
