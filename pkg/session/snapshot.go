package session

import (
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// Snapshot is a connection as status shows it.
type Snapshot struct {
	Identity
	HostName    string
	HostVersion string
	Dir         string
	Origin      roots.Origin
	Stale       string
	Roots       []roots.Root
	View        *config.Config
	Decision    visibility.Decision
	Frozen      string // what the rules in force would decide, when the session keeps older ones
	Since       time.Time
	Servers     []Seen // the one it is to, or under a roof all that its view names
}

// Seen is a server as one session sees it.
type Seen struct {
	Name     string
	Key      string           // of the instance its calls go to
	Resolved *config.Resolved // nil: the server is not for this session
	State    string           // why not, in a few words: disabled, untrusted, invalid, unknown, hidden by …
	Reason   string           // why not, in full; else what last went wrong
}

// Snapshot is the connection as it is now.
func (c *Conn) Snapshot() Snapshot {
	st, host := c.guess(), c.facts()
	names := []string{c.o.Hello.Server}
	if c.roof != nil {
		names = st.view.Names
		for _, u := range st.view.Untrusted {
			names = append(names[:len(names):len(names)], u.Name)
		}
	}
	snap := Snapshot{
		Identity: c.who, HostName: host.name, HostVersion: host.version, Since: c.openedAt,
		Dir: st.dir, Origin: st.origin, Stale: st.stale, Roots: st.roots, View: st.view,
		Decision: st.decision,
	}
	if now := c.o.World.Rules(); now != st.rules {
		if then := Decide(st.view, now.Table, st.dir, st.decision.Override).String(); then != st.decision.String() {
			snap.Frozen = then
		}
	}
	for _, name := range names {
		snap.Servers = append(snap.Servers, c.lane(name).seen(st))
	}
	return snap
}

// seen is the lane's server as a session sees it that stands in st.
func (l *lane) seen(st *stand) Seen {
	l.c.mu.Lock()
	s, trouble := l.spot, l.trouble
	l.c.mu.Unlock()
	if s == nil || s.stand != st {
		s, _ = l.place(l.c.life, st) // the one error is that the connection ends
	}
	seen := Seen{Name: l.name, Key: s.rs.Key, Resolved: s.verdict.server, Reason: trouble}
	if s.verdict.server == nil {
		seen.State, seen.Reason = s.verdict.state, s.verdict.reason
	}
	return seen
}

// SoftRoots are the session's roots, for the servers it owns (design D5).
func (c *Conn) SoftRoots() []roots.Root {
	return c.guess().roots
}

// Exit is the code the shim ends with at the end of the host's input.
func (c *Conn) Exit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}
