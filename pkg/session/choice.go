package session

import (
	"fmt"
	"slices"

	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// Session is an open session: its connections, oldest first.
type Session struct{ conns []*Conn }

// Session is the open session of that id; nil when there is none.
func (t *Table) Session(id string) *Session {
	s := &Session{conns: slices.DeleteFunc(t.All(), func(c *Conn) bool { return c.who.Session != id })}
	if len(s.conns) == 0 {
		return nil
	}
	return s
}

// Decision is what the session sees now.
func (s *Session) Decision() visibility.Decision { return s.conns[0].guess().decision }

// Widened are the servers that a connection of the session would see with a
// switch, and does not see now.
func (s *Session) Widened(o visibility.Override) []string {
	var more []string
	for _, c := range s.conns {
		st := c.guess()
		after := Decide(st.view, st.rules.Table, st.dir, o)
		more = append(more, visibility.Widened(st.decision, after)...)
	}
	slices.Sort(more)
	return slices.Compact(more)
}

// Roots are the session's now.
func (s *Session) Roots() []roots.Root { return s.conns[0].guess().roots }

// Switch makes o the session's switch, on all its connections.
func (s *Session) Switch(o visibility.Override) error {
	return s.choose(func(c *choice) { c.Switch = o })
}

// SetRoots makes dirs the session's roots; none: its host says again where it is.
func (s *Session) SetRoots(dirs []string) error {
	return s.choose(func(c *choice) { c.Roots = dirs })
}

// choose makes a choice and keeps it for the next daemon; one that cannot be kept
// is not made. The hosts are told what changes for them.
func (s *Session) choose(change func(*choice)) error {
	shared := s.conns[0].shared
	before := shared.choose(change)
	if err := s.keep(); err != nil {
		shared.choose(func(o *choice) { o.Switch, o.Roots = before.Switch, before.Roots })
		_ = s.keep() // as much fitted before
		return &tooMuch{err}
	}
	for _, c := range s.conns {
		c.Refresh()
	}
	return nil
}

func (s *Session) keep() error {
	for _, c := range s.conns {
		c.mu.Lock()
		err := c.fit()
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// tooMuch is a choice that the next daemon would not know of.
type tooMuch struct{ err error }

func (e *tooMuch) Error() string {
	return fmt.Sprintf("nothing was changed, since a restart of the daemon would forget it: %v", e.err)
}

// Hint says what would fit.
func (e *tooMuch) Hint() string { return "choose fewer servers or directories, or shorter ones" }

func (e *tooMuch) Unwrap() error { return e.err }
