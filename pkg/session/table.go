package session

import (
	"slices"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/scope"
)

// Table is the open connections of a daemon, grouped into sessions by identity.
type Table struct {
	grace time.Duration // between a session's last connection and the end of what it owned
	over  func(keys []string, grace time.Duration)
	back  func(keys []string)

	mu       sync.Mutex // guards what follows
	conns    map[*Conn]struct{}
	sessions map[string]*joined // by identity
}

// joined is a session, which outlives its last connection by the grace: a host
// that starts one again goes on where it was.
type joined struct {
	shared *shared
	open   int       // connections
	left   time.Time // when the last of them was gone
}

// NewTable makes an empty table. over is called, without locks, with the
// caller-owned keys (design D17) that nobody open owns any more, and back with
// those that somebody owns again.
func NewTable(grace time.Duration, over func(keys []string, grace time.Duration), back func(keys []string)) *Table {
	return &Table{grace: grace, over: over, back: back, conns: map[*Conn]struct{}{}, sessions: map[string]*joined{}}
}

// Add counts a connection in, before anybody else has it.
func (t *Table) Add(c *Conn) {
	t.mu.Lock()
	t.join(c, time.Now())
	t.conns[c] = struct{}{}
	t.mu.Unlock()
	t.back(ownedBy(c))
}

// Remove counts a connection out and ends what only it owned.
func (t *Table) Remove(c *Conn) {
	t.mu.Lock()
	if _, in := t.conns[c]; in {
		delete(t.conns, c)
		s := t.sessions[c.who.Session]
		s.open--
		s.left = time.Now()
		if s.open == 0 && s.shared.chosen().N == 0 { // there is nothing to come back to
			delete(t.sessions, c.who.Session)
		}
	}
	t.mu.Unlock()
	left := slices.DeleteFunc(ownedBy(c), func(key string) bool { return t.Owner(key) != nil })
	if len(left) == 0 {
		return
	}
	t.over(left, t.grace)
	// One that was counted in meanwhile may have been told first.
	if again := slices.DeleteFunc(left, func(key string) bool { return t.Owner(key) == nil }); len(again) > 0 {
		t.back(again)
	}
}

// join makes c share what its session's other connections do. Needs t.mu.
func (t *Table) join(c *Conn, now time.Time) {
	for id, s := range t.sessions {
		if s.open == 0 && now.Sub(s.left) > t.grace {
			delete(t.sessions, id)
		}
	}
	s := t.sessions[c.who.Session]
	if s == nil {
		s = &joined{shared: c.shared}
		t.sessions[c.who.Session] = s
	}
	s.shared.adopt(c.shared.chosen())
	c.shared = s.shared
	s.open++
}

// ownedBy are the keys that live as long as one of their owners is open: a
// parent owns what its children share, too.
func ownedBy(c *Conn) []string {
	cc := c.callContext()
	keys := []string{
		scope.Session.Key(cc),
		scope.PSession.Key(cc),
		scope.PSession.Key(scope.CallContext{Parent: cc.Session}),
		scope.PID.Key(cc),
	}
	keys = slices.DeleteFunc(keys, scope.PerCall) // of who has no session
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Owner is the oldest open connection that owns a caller-owned key, nil when
// none does.
func (t *Table) Owner(key string) *Conn {
	for _, c := range t.All() {
		if slices.Contains(ownedBy(c), key) || c.makes(key) {
			return c
		}
	}
	return nil
}

// All are the open connections, oldest first.
func (t *Table) All() []*Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*Conn, 0, len(t.conns))
	for c := range t.conns {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Conn) int { return a.openedAt.Compare(b.openedAt) })
	return all
}
