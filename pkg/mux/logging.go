package mux

import (
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// level is a logging level, from the most verbose up; 0 is none.
type level int

var levels = [...]string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func levelOf(name string) level {
	return level(max(0, slices.Index(levels[:], name)))
}

// setLevel notes p's level and says whether the server has to hear of it: it is
// told the most verbose of all (W9). The edit writes that level.
func (p *Port) setLevel(c *call, env *wire.Envelope) (edit wire.Edit, forward bool) {
	m := p.m
	asked := levelOf(env.Text(env.Level))
	if asked == 0 {
		return edit, true // the server knows better what it does not know
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before, told := p.level, m.level
	p.level = asked
	if m.modern() {
		p.meta.LogLevel = levels[asked]
		p.extra = p.meta.Extra()
		return edit, false
	}
	want := m.mostVerboseLocked()
	if want == told {
		return edit, false
	}
	m.level = want
	c.refused = func() {
		p.level = before
		if m.level == want {
			m.level = told
		}
	}
	return wire.Edit{At: env.Level, With: wire.AppendString(nil, levels[want])}, true
}

// mostVerboseLocked is the least level that any port has set, 0 for none.
func (m *Mux) mostVerboseLocked() (least level) {
	quieter := func(l level) bool { return l > 0 && (least == 0 || l < least) }
	for _, p := range m.ports {
		if quieter(p.level) {
			least = p.level
		}
		for _, c := range p.calls {
			if quieter(c.level) {
				least = c.level
			}
		}
	}
	return least
}

// tellLevel tells a legacy server what a modern host's request wants to hear, if
// nobody did before: such a host has no logging/setLevel.
func (m *Mux) tellLevel() {
	m.mu.Lock()
	var line []byte
	if want := m.mostVerboseLocked(); m.logging && want != 0 && (m.level == 0 || want < m.level) {
		line = m.levelLineLocked(want)
		m.held.level, m.held.until = m.lastID, time.Now().Add(levelWait)
	}
	m.mu.Unlock()
	if line != nil {
		_ = m.conn.Write(line) // a server that does not read has nothing to say either
	}
}

func (m *Mux) levelLineLocked(want level) []byte {
	m.level, m.quiet = want, time.Time{}
	return m.appendOwnLocked(nil, "logging/setLevel", append(wire.AppendString([]byte(`{"level":`), levels[want]), '}'))
}

// levelRest is how long the level of a request that has ended stays: the next is
// not far.
const levelRest = time.Second

// quietLocked looks later whether a call that is over was the one that wanted to
// hear the most.
func (m *Mux) quietLocked(c *call) {
	if c.level > 0 && c.level == m.level && !m.modern() && m.quiet.IsZero() {
		m.quiet = time.Now().Add(levelRest)
		m.lookLocked(m.quiet)
	}
}

// relaxedLocked is the line that tells the server of a higher level, when the time
// has come.
func (m *Mux) relaxedLocked(now time.Time) []byte {
	if m.quiet.IsZero() || m.quiet.After(now) {
		return nil
	}
	m.quiet = time.Time{}
	return m.relaxLevelLocked()
}

// relaxLevelLocked returns the line that tells the server of a higher level, when
// the port that wanted the lower one has left.
func (m *Mux) relaxLevelLocked() []byte {
	want := m.mostVerboseLocked()
	if want == 0 || want == m.level || m.hs.Era == upstream.Modern {
		return nil
	}
	return m.levelLineLocked(want)
}

// readersLocked are the ports that are to hear a notifications/message. A modern
// server speaks of a request that asked for it, and does not say of which.
func (m *Mux) readersLocked(env *wire.Envelope, to []*Port) []*Port {
	if !m.logs.allows(logsPerSecond, time.Now()) {
		m.stats.Excess++
		return to
	}
	said := levelOf(env.Text(env.Level))
	for _, p := range m.ports {
		if p.hearsLocked(said) {
			to = append(to, p)
		}
	}
	return to
}

// hearsLocked reports whether the session wants to hear what a server says at the
// level said, 0 for one that is not known. One that set a level hears what reaches
// it, one that set none what is said while it has a call in flight; of a modern
// server, and as a modern host, what a call in flight has asked for.
func (p *Port) hearsLocked(said level) bool {
	reaches := func(l level) bool { return l > 0 && (said == 0 || said >= l) }
	if p.level > 0 && !p.m.modern() {
		return reaches(p.level)
	}
	for _, c := range p.calls {
		switch {
		case c.modern && reaches(c.level), !c.modern && reaches(p.level), !c.modern && !p.m.modern():
			return true
		}
	}
	return false
}
