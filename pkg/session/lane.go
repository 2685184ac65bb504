package session

import (
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

// lane is the way from a connection to one server: requests keep their order in
// it (design D14), and what one server does holds up no other.
type lane struct {
	c    *Conn
	name string // of the server, as the config has it

	// Guarded by c.mu.
	spot      *spot // where the session's requests to this server go; nil until first known
	queue     []*item
	elsewhere time.Duration // see waitedElsewhere
	busy      bool          // a goroutine works through queue
	current   *port
	shown     map[string]listing // by family: the list the host was last given
	subs      []string           // resources that the host is subscribed to
	trouble   string             // last thing that went wrong, for status
}

// lane is the way to the server called name.
func (c *Conn) lane(name string) *lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[name]
	if l == nil {
		l = &lane{c: c, name: name, shown: map[string]listing{}}
		c.lanes[name] = l
	}
	return l
}

// used are the lanes there are so far.
func (c *Conn) used() []*lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*lane, 0, len(c.lanes))
	for _, l := range c.lanes {
		all = append(all, l)
	}
	return all
}

// hidden reports whether the session sees the server no longer.
func (l *lane) hidden() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.spot != nil && l.spot.verdict.hidden()
}

// note keeps the last thing that went wrong for status.
func (l *lane) note(err error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.trouble = err.Error()
}

// tell forwards a notification to the instance in use; with none there is
// nobody whom it concerns.
func (l *lane) tell(env *wire.Envelope) {
	l.c.mu.Lock()
	p := l.current
	l.c.mu.Unlock()
	if p != nil {
		_ = p.Notify(env) // a notification has nobody to tell of its failure
	}
}
