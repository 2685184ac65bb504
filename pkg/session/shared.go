package session

import (
	"sync"

	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// shared is what the connections of one session have in common. It is the
// session's: it ends with it.
type shared struct {
	mu     sync.Mutex    // guards what follows
	rules  *source.Rules // that the session goes by; nil: none were asked yet
	choice *choice
	logged string // the decision that the log has
}

// choice is what was chosen for the session by hand. It is never changed, only
// replaced, and each of the session's capsules has it.
type choice struct {
	N      uint64              `json:"n"` // counts the choices: of two versions the one with more is later
	Switch visibility.Override `json:"switch,omitzero"`
	Roots  []string            `json:"roots,omitempty"` // canonical directories
}

// common is a session's at one moment.
type common struct {
	rules  *source.Rules
	choice *choice
}

func newShared() *shared { return &shared{choice: &choice{}} }

// now is what holds for the session while these rules are in force: the rules
// themselves, unless a session is to keep those it began with.
func (s *shared) now(inForce *source.Rules) common {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == nil || inForce.Live {
		s.rules = inForce
	}
	return common{s.rules, s.choice}
}

// chosen is what was chosen last.
func (s *shared) chosen() *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choice
}

// choose replaces it, and returns what it was.
func (s *shared) choose(change func(o *choice)) (before choice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = *s.choice
	next := before
	change(&next)
	next.N = before.N + 1
	s.choice = &next
	return before
}

// adopt takes up what a capsule has, if it is later.
func (s *shared) adopt(o *choice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.N > s.choice.N {
		s.choice = o
	}
}

// news reports whether a decision is another than the log has.
func (s *shared) news(decision string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logged == decision {
		return false
	}
	s.logged = decision
	return true
}
