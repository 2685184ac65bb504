package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
)

// spot is where a session stands and what that means for its server. It is
// never changed, only replaced.
type spot struct {
	facts  roots.Facts
	roots  []roots.Root
	dir    string
	origin roots.Origin
	stale  string // why the directory may be out of date; "" when it is not

	view    *config.Config
	verdict verdict
	cc      scope.CallContext
	rs      scope.ResolvedScope
	at      time.Time
}

// given is what a hello says of where the host is.
func given(h api.Hello) roots.Facts {
	return roots.Facts{
		Flag: h.Flags.Cwd, Var: h.Env["MCPX_CWD"],
		ProjectDir: h.Env["CLAUDE_PROJECT_DIR"], WorkspaceFolders: h.Env["WORKSPACE_FOLDER_PATHS"],
		Cwd: h.Cwd,
	}
}

// same compares facts whose other parts never change on one connection.
func same(a, b roots.Facts) bool {
	return a.Meta == b.Meta && slices.Equal(a.Native, b.Native) && slices.Equal(a.Set, b.Set)
}

// guess is the spot by what is known now, for answers that do not wait.
func (c *Conn) guess() *spot {
	s, facts := c.known(nil)
	g, _ := c.place(c.life, s, facts, stale(s)) // the one error is that the connection ends
	return g
}

// resolve makes the spot that follows from facts the session's spot.
func (c *Conn) resolve(ctx context.Context, old *spot, facts roots.Facts, stale string) (*spot, error) {
	s, err := c.place(ctx, old, facts, stale)
	if err != nil || s == old {
		return s, err
	}
	c.settle(old, s)
	return s, nil
}

// place builds a spot, or returns the old one while all of it still holds.
func (c *Conn) place(ctx context.Context, old *spot, facts roots.Facts, stale string) (*spot, error) {
	now := time.Now()
	if old != nil && same(facts, old.facts) && stale == old.stale && c.o.World.View(old.dir) == old.view && !old.aged(now) {
		return old, nil
	}
	s := &spot{facts: facts, stale: stale, at: now}
	s.roots = roots.Seed(facts, c.o.World.Canon)
	s.dir, s.origin = roots.Primary(s.roots)
	s.view = c.o.World.View(s.dir)
	s.verdict = judge(s.view, c.o.Hello.Server)
	s.cc = c.callContext()
	s.cc.Cwd = s.dir
	if s.verdict.server == nil {
		return s, nil
	}
	if s.verdict.server.Scope.NeedsGit() && s.dir != "" {
		s.cc.Git = c.o.World.Locate(ctx, s.dir, c.o.Hello.Env["GIT_CEILING_DIRECTORIES"])
	}
	s.rs = s.verdict.server.Scope.Resolve(s.cc)
	return s, ctx.Err()
}

// aged reports whether the directory has to be looked at again: it can become a
// checkout, or go, while a session stands in it.
func (s *spot) aged(now time.Time) bool {
	return s.verdict.server != nil && s.verdict.server.Scope.NeedsDir() && now.Sub(s.at) > lookAgain
}

// nowhere is a session whose host names a directory that is not there.
type nowhere struct {
	server string
	root   roots.Root
}

func (e *nowhere) Error() string {
	return fmt.Sprintf("server %q: the session's directory %q (from %s) is not there: %s", e.server, e.root.Path, e.root.Origin, e.root.Ignored)
}

// Hint says what a person can do.
func (e *nowhere) Hint() string {
	switch e.root.Origin {
	case roots.Flag:
		return "mend --cwd where the host starts mcpx connect; it is not expanded here"
	case roots.Var:
		return "mend MCPX_CWD where the host starts mcpx connect"
	}
	return "open a directory that exists in the host, or name one: mcpx connect --cwd DIR " + e.server
}

// missing is the reason why a server that runs in a place has none, nil when it
// has one or the scope itself says why.
func (s *spot) missing() error {
	if s.dir != "" || !s.verdict.server.Scope.NeedsDir() {
		return nil
	}
	for _, r := range s.roots {
		if r.Path != "" && r.Ignored != "" {
			return &nowhere{s.verdict.server.Name, r}
		}
	}
	return nil
}

// settle makes s the session's spot and tells whom it concerns. A session that
// left an instance's key is not its guest any more.
func (c *Conn) settle(old, s *spot) {
	var left *port
	c.mu.Lock()
	c.spot = s
	if old != nil && (old.verdict.def != s.verdict.def || old.rs.Key != s.rs.Key) {
		left = c.depart()
	}
	c.mu.Unlock()
	if left != nil {
		left.Detach()
	}
	c.announce(func(family string, l listing) bool { return l.offer != s.verdict.offer(family) })
	if old == nil {
		return
	}
	if scope.CallerOwned(s.rs.Key) && !slices.Equal(old.roots, s.roots) {
		c.o.Servers.RootsChanged(s.rs.Key)
	}
	if old.dir != s.dir {
		c.o.Log.Info("moved session", "session", c.who.Session, "server", c.o.Hello.Server, "dir", s.dir, "dir_source", string(s.origin))
	}
}

// perCall reports whether each call has a process of its own.
func (s *spot) perCall() bool { return scope.PerCall(s.rs.Key) }

// certain reports whether the directory is known well enough to start a server
// in before the host was asked: a flag, a variable, or a working directory that
// is not where desktop programs start everything (design D14).
func (s *spot) certain(home string) bool {
	switch s.origin {
	case roots.Set, roots.Flag, roots.Var, roots.Meta, roots.Host:
		return true
	case roots.Cwd:
		return s.dir != "" && s.dir != home && s.dir != "/"
	}
	return false
}
