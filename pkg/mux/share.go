package mux

import (
	"sync"
	"time"
)

// How sessions share the machine (threats T34, T35). A server takes what is sent to
// it in the order in which it comes, and a processor likewise, so a session that
// sends many calls at once makes others wait behind all of them. While others
// call, few of a connection's calls are with a server that it was given a moment
// ago. What takes longer than that moment waits for itself, and holds back nothing.
const (
	// Few is how many.
	Few = 2
	// Moment is how long a call counts among them.
	Moment = 2 * time.Millisecond
	// lately is for how long a session that has called counts as one that calls.
	lately = time.Second
)

// Turns is which session called last, of all that share a machine. The zero value
// is ready to use.
type Turns struct {
	mu    sync.Mutex // guards what follows
	owner string
	at    time.Time
	other time.Time // the last call of anybody else's
}

// called notes a call.
func (t *Turns) called(owner string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if owner != t.owner {
		t.owner, t.other = owner, t.at
	}
	t.at = now
}

// shared reports whether somebody beside owner has called lately.
func (t *Turns) shared(owner string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	other := t.other
	if owner != t.owner {
		other = t.at
	}
	return !other.IsZero() && now.Sub(other) < lately
}

// Crowds reports whether the port, while others call, has as many new calls as it
// may: the next one waits for an answer, or for a Moment.
func (p *Port) Crowds() bool {
	now := time.Now()
	if !p.m.turns.shared(p.owner, now) {
		return false
	}
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	n := 0
	for _, c := range p.calls {
		if now.Sub(c.sent) < Moment {
			n++
		}
	}
	return n >= Few
}
