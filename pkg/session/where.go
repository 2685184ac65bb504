package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/wire"
)

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
