package session

import (
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
)

// Snapshot is a connection as status shows it.
type Snapshot struct {
	Identity
	Server      string
	HostName    string
	HostVersion string
	Dir         string
	Origin      roots.Origin
	Stale       string
	Roots       []roots.Root
	Key         string           // of the instance its calls go to
	Resolved    *config.Resolved // nil: the server is not for this session
	State       string           // why not, in one word: disabled, untrusted, invalid, unknown
	Reason      string           // why not, in full; else what last went wrong
	View        *config.Config
	Since       time.Time
}

// Snapshot is the connection as it is now.
func (c *Conn) Snapshot() Snapshot {
	l := c.only()
	c.mu.Lock()
	s, host, trouble := l.spot, c.host, l.trouble
	c.mu.Unlock()
	snap := Snapshot{
		Identity: c.who, Server: c.o.Hello.Server,
		HostName: host.name, HostVersion: host.version, Since: c.openedAt, Reason: trouble,
	}
	if s == nil {
		s = l.guess()
	}
	snap.Dir, snap.Origin, snap.Stale, snap.Roots = s.dir, s.origin, s.stale, s.roots
	snap.Key, snap.Resolved, snap.View = s.rs.Key, s.verdict.server, s.view
	if s.verdict.server == nil {
		snap.State, snap.Reason = s.verdict.state, s.verdict.reason
	}
	return snap
}

// SoftRoots are the session's roots, for the servers it owns (design D5).
func (c *Conn) SoftRoots() []roots.Root {
	c.mu.Lock()
	st := c.stand
	c.mu.Unlock()
	if st == nil {
		known, facts := c.known(nil)
		st = c.stood(nil, facts, stale(known))
	}
	return st.roots
}

// Exit is the code the shim ends with at the end of the host's input.
func (c *Conn) Exit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}
