package session

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// stand is where a session stands. It is never changed, only replaced.
type stand struct {
	n      int64 // of two, the one with more was looked at later
	facts  roots.Facts
	roots  []roots.Root
	dir    string
	origin roots.Origin
	stale  string // why the directory may be out of date; "" when it is not
	view   *config.Config
	at     time.Time

	common
	decision visibility.Decision // of the servers that view has

	look sync.Once
	repo scope.Git // around dir, once looked for
}

// spot is what that means for one server. It is never changed, only replaced.
type spot struct {
	*stand
	verdict verdict
	cc      scope.CallContext
	rs      scope.ResolvedScope
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

// guess is where the session stands by what is known now, for answers that do
// not wait.
func (c *Conn) guess() *stand {
	st, facts := c.known(nil)
	return c.stood(st, facts, stale(st))
}

// guess is the spot by what is known now.
func (l *lane) guess() *spot {
	g, _ := l.place(l.c.life, l.c.guess()) // the one error is that the connection ends
	return g
}

// resolve makes the spot that follows from st the one that requests go to.
func (l *lane) resolve(ctx context.Context, st *stand) (*spot, error) {
	s, err := l.place(ctx, st)
	if err == nil {
		for _, family := range l.settle(s) {
			l.c.changed(family)
		}
	}
	return s, err
}

// take makes where the facts say the session stands the place where it does.
func (c *Conn) take(facts roots.Facts, stale string) *stand {
	c.mu.Lock()
	before := c.stand
	c.mu.Unlock()
	st := c.stood(before, facts, stale)
	if st != before && st.rules.Log {
		c.logDecision(st)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stand = st
	return st
}

// logDecision says once what the session sees, and again when that changes.
func (c *Conn) logDecision(st *stand) {
	if decision := st.decision.String(); c.shared.news(st.dir + " " + decision) {
		level := slog.LevelInfo
		if c.o.Single { // one for each request
			level = slog.LevelDebug
		}
		c.o.Log.Log(c.life, level, "decided what the session sees", "session", c.who.Session, "dir", st.dir, "rule", decision)
	}
}

// renew is a stand as st that was looked at just now.
func (c *Conn) renew(st *stand) *stand {
	fresh := c.stood(nil, st.facts, st.stale)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.stand {
	case st:
		c.stand = fresh
	case nil:
	default:
		return c.stand // somebody else looked, or it has moved
	}
	return fresh
}

// stood is where facts say that the session stands: the old place while all of
// it still holds.
func (c *Conn) stood(old *stand, facts roots.Facts, stale string) *stand {
	common := c.shared.now(c.o.World.Rules())
	if old != nil && common == old.common && same(facts, old.facts) && stale == old.stale && c.o.World.View(old.dir) == old.view {
		return old
	}
	st := &stand{n: c.placed.Add(1), facts: facts, stale: stale, at: time.Now(), common: common}
	st.roots = roots.Seed(facts, c.o.World.Canon)
	st.dir, st.origin = roots.Primary(st.roots)
	st.view = c.o.World.View(st.dir)
	st.decision = Decide(st.view, common.rules.Table, st.dir, common.choice.Switch)
	return st
}

// git is the repository around the place, looked for once.
func (c *Conn) git(st *stand) scope.Git {
	st.look.Do(func() {
		if st.dir != "" {
			st.repo = c.o.World.Locate(c.life, st.dir, c.o.Hello.Env["GIT_CEILING_DIRECTORIES"])
		}
	})
	return st.repo
}

// place builds a spot, or returns the old one while all of it still holds.
func (l *lane) place(ctx context.Context, st *stand) (*spot, error) {
	c := l.c
	c.mu.Lock()
	old := l.spot
	c.mu.Unlock()
	if old != nil && old.stand == st {
		if !old.aged(time.Now()) {
			return old, nil
		}
		st = c.renew(st)
	}
	s := &spot{stand: st, verdict: st.judge(l.name), cc: c.callContext()}
	s.cc.Cwd = st.dir
	if s.verdict.server == nil {
		return s, nil
	}
	if s.verdict.server.Scope.NeedsGit() {
		s.cc.Git = c.git(st)
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

// settle makes s where the lane's requests go. A session that left an instance's
// key, or sees the server no longer, is not its guest any more. It returns the
// families whose lists the host was given and that are others now.
func (l *lane) settle(s *spot) (stale []string) {
	c := l.c
	var left *port
	c.mu.Lock()
	old := l.spot
	if old == s || old != nil && old.n > s.n { // somebody else looked since
		c.mu.Unlock()
		return nil
	}
	l.spot = s
	if old != nil && (old.verdict.def != s.verdict.def || old.rs.Key != s.rs.Key) {
		left = l.depart()
	}
	if old != nil && old.verdict.hidden() && s.verdict.server != nil && len(l.subs) > 0 {
		c.start(l.resubscribe) // the host thinks that it still is
	}
	c.mu.Unlock()
	if left != nil {
		left.Detach()
	}
	stale = l.outdated(func(family string, given listing) bool { return given.offer != s.verdict.offer(family) })
	if old == nil {
		return stale
	}
	if scope.CallerOwned(s.rs.Key) && !slices.Equal(old.roots, s.roots) {
		c.o.Servers.RootsChanged(s.rs.Key)
	}
	if old.dir != s.dir {
		c.o.Log.Info("moved session", "session", c.who.Session, "server", l.name, "dir", s.dir, "dir_source", string(s.origin))
	}
	return stale
}

// perCall reports whether each call has a process of its own.
func (s *spot) perCall() bool { return scope.PerCall(s.rs.Key) }

// certain reports whether the directory is known well enough to start a server
// in before the host was asked: a flag, a variable, or a working directory that
// is not where desktop programs start everything (design D14).
func (s *stand) certain(home string) bool {
	switch s.origin {
	case roots.Set, roots.Flag, roots.Var, roots.Meta, roots.Host:
		return true
	case roots.Cwd:
		return s.dir != "" && s.dir != home && s.dir != "/"
	}
	return false
}
