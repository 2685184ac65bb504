package session

import (
	"sync"

	"github.com/dezren39/mcpx/pkg/source"
)

// shared is what the connections of one session have in common. It is the
// session's: it ends with it.
type shared struct {
	mu     sync.Mutex    // guards what follows
	rules  *source.Rules // that the session goes by; nil: none were asked yet
	logged string        // the decision that the log has
}

// common is a session's at one moment.
type common struct {
	rules *source.Rules
}

// now is what holds for the session while these rules are in force: the rules
// themselves, unless a session is to keep those it began with.
func (s *shared) now(inForce *source.Rules) common {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == nil || inForce.Live {
		s.rules = inForce
	}
	return common{s.rules}
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
