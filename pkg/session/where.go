package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
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

// looks remembers when and how the host was last asked where it is. Only the
// goroutine that places requests uses it, one at a time, but for dirty.
type looks struct {
	dirty  atomic.Bool // the host said that its roots changed, and has not said what they are
	at     time.Time   // of the last answer
	stands []string    // where the shim's ancestors stood then
	silent bool        // it declares roots and does not answer
}

// moved is the one failure that must not be papered over: the host stands
// elsewhere and does not say where (design D10).
type moved struct{ err error }

func (e *moved) Error() string {
	return "the host moved to another directory and does not say which: " + e.err.Error()
}

// Hint says what a person can do.
func (e *moved) Hint() string {
	return "call again; if it never answers, name the directory: mcpx connect --cwd DIR SERVER"
}

// where returns the session's spot for a request, asking the host again when it
// may have moved without a word. env may be nil. Only the goroutine that places
// requests calls it.
func (c *Conn) where(ctx context.Context, env *wire.Envelope) (*spot, error) {
	s, facts := c.known(env)
	if !c.mustLook(s) {
		return c.resolve(ctx, s, facts, stale(s))
	}
	stands, _ := c.stands()
	dirty := c.look.dirty.Swap(false)
	native, err := c.askRoots(ctx)
	if err == nil {
		facts.Native = native
		c.look.at, c.look.stands, c.look.silent = time.Now(), stands, false
		return c.resolve(ctx, s, facts, "")
	}
	if s != nil && (dirty || !slices.Equal(stands, c.look.stands)) || ctx.Err() != nil {
		if dirty {
			c.look.dirty.Store(true) // the next request asks again
		}
		return nil, cmp.Or(ctx.Err(), error(&moved{err}))
	}
	c.look.at, c.look.stands, c.look.silent = time.Now(), stands, true
	return c.resolve(ctx, s, facts, err.Error())
}

// known is the spot so far and the facts that hold for env, without asking.
func (c *Conn) known(env *wire.Envelope) (*spot, roots.Facts) {
	c.mu.Lock()
	s := c.spot
	c.mu.Unlock()
	facts := c.given
	if s != nil {
		facts = s.facts
	}
	if env != nil && env.Meta != (wire.Span{}) {
		if dir := roots.MetaCheckout(env.Bytes(env.Meta)); dir != "" {
			facts.Meta = dir
		}
	}
	return s, facts
}

func stale(s *spot) string {
	if s == nil {
		return ""
	}
	return s.stale
}

// mustLook decides whether the host is asked before the next request. One that
// declares no roots never is, nor one whose directory a person chose; the others
// at first, when they say so, when an ancestor of the shim stands elsewhere, and,
// unless they promised to tell, when the last look is a second old.
func (c *Conn) mustLook(s *spot) bool {
	host := c.facts()
	if !host.roots || c.given.Flag != "" || c.given.Var != "" {
		return false
	}
	if s == nil || c.look.at.IsZero() || c.look.dirty.Load() {
		return true
	}
	stands, readable := c.stands()
	if !slices.Equal(stands, c.look.stands) {
		return true
	}
	if c.look.silent {
		return time.Since(c.look.at) > silentHost
	}
	return !readable || !host.listChanged && time.Since(c.look.at) > lookAgain
}

// stands is where the shim's ancestors stand now, and whether all could be read.
func (c *Conn) stands() (dirs []string, readable bool) {
	dirs, readable = make([]string, len(c.o.Chain)), true
	for i, p := range c.o.Chain {
		var ok bool
		if dirs[i], ok = c.o.World.Stands(p.ID); !ok {
			readable = false
		}
	}
	return dirs, readable
}

func (c *Conn) askRoots(ctx context.Context) ([]roots.Root, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rootsWait, fmt.Errorf("waited %v", rootsWait))
	defer cancel()
	result, err := c.ask(ctx, "roots/list")
	if err != nil {
		return nil, err
	}
	return roots.ParseNative(result)
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

// aged reports whether the repository around the directory has to be looked at
// again: a directory can become a checkout while a session stands in it.
func (s *spot) aged(now time.Time) bool {
	return s.verdict.server != nil && s.verdict.server.Scope.NeedsGit() && now.Sub(s.at) > lookAgain
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
func (s *spot) perCall() bool { return strings.HasPrefix(s.rs.Key, "call:") }

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

// verdict is what a view says of one name.
type verdict struct {
	server *config.Resolved // nil: not for this session
	def    config.Definition
	state  string // in one word, why not
	reason string // in full
	hint   string
}

// unknown is the state of a server that no file names.
const unknown = "unknown"

func (v verdict) known() bool { return v.state != unknown }

// judge says whether a session with this view may use the server called name.
func judge(view *config.Config, name string) verdict {
	if s := view.Servers[name]; s != nil {
		if s.Disabled {
			return verdict{state: "disabled", reason: "disabled", hint: `take "disabled" out of its mcpx block`}
		}
		return verdict{server: s, def: s.Definition()}
	}
	for _, u := range view.Untrusted {
		if u.Name == name {
			return verdict{state: "untrusted", reason: "untrusted: only " + u.File + " names it", hint: "read it, then: mcpx trust " + u.File}
		}
	}
	for _, p := range view.Problems {
		if p.Server == name && !p.Warning {
			return verdict{state: "invalid", reason: p.Error(), hint: p.Hint}
		}
	}
	hint := "the servers here are: " + strings.Join(view.Names, ", ")
	if len(view.Names) == 0 {
		hint = "no server is configured here: mcpx config --sources shows which files were read"
	}
	return verdict{state: unknown, reason: fmt.Sprintf("no config file names a server %q", name), hint: hint}
}
