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
	for _, p := range m.ports {
		if p.level > 0 && (least == 0 || p.level < least) {
			least = p.level
		}
	}
	return least
}

// relaxLevelLocked returns the line that tells the server of a higher level, when
// the port that wanted the lower one has left.
func (m *Mux) relaxLevelLocked() []byte {
	want := m.mostVerboseLocked()
	if want == 0 || want == m.level || m.hs.Era == upstream.Modern {
		return nil
	}
	m.level = want
	params := append(wire.AppendString([]byte(`{"level":`), levels[want]), '}')
	return m.appendOwnLocked(nil, "logging/setLevel", params)
}

// readersLocked are the ports that are to hear a notifications/message: those
// that set a level hear what reaches it, the others what is said while they
// have a call in flight.
func (m *Mux) readersLocked(env *wire.Envelope, to []*Port) []*Port {
	if !m.logs.allows(logsPerSecond, time.Now()) {
		m.stats.Excess++
		return to
	}
	said := levelOf(env.Text(env.Level))
	for _, p := range m.ports {
		if p.level > 0 && (said == 0 || said >= p.level) || p.level == 0 && len(p.calls) > 0 {
			to = append(to, p)
		}
	}
	return to
}
