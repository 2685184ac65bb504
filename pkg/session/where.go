package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/wire"
)

// looks remembers when and how the host was last asked where it is.
type looks struct {
	dirty atomic.Bool // the host said that its roots changed, and has not said what they are

	mu     sync.Mutex // guards what follows, and held while the host is asked: one answer is for all
	at     time.Time  // of the last answer
	stands []string   // where the shim's ancestors stood then
	silent bool       // it declares roots and does not answer
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

// where returns the spot for a request, asking the host again when it may have
// moved without a word. Only the goroutine that places the lane's requests calls
// it.
func (l *lane) where(ctx context.Context, env *wire.Envelope) (*spot, error) {
	st, err := l.c.where(ctx, env)
	if err != nil {
		return nil, err
	}
	return l.resolve(ctx, st)
}

// where is where the session stands, as of a request; env may be nil.
func (c *Conn) where(ctx context.Context, env *wire.Envelope) (*stand, error) {
	c.look.mu.Lock()
	defer c.look.mu.Unlock()
	st, facts := c.known(env)
	if !c.mustLook(st) {
		return c.take(facts, stale(st)), nil
	}
	stands, _ := c.stands()
	dirty := c.look.dirty.Swap(false)
	native, err := c.askRoots(ctx)
	if err == nil {
		facts.Native = native
		c.look.at, c.look.stands, c.look.silent = time.Now(), stands, false
		return c.take(facts, ""), nil
	}
	if st != nil && (dirty || !slices.Equal(stands, c.look.stands)) || ctx.Err() != nil {
		if dirty {
			c.look.dirty.Store(true) // the next request asks again
		}
		return nil, cmp.Or(ctx.Err(), error(&moved{err}))
	}
	c.look.at, c.look.stands, c.look.silent = time.Now(), stands, true
	return c.take(facts, err.Error()), nil
}

// errUnknown is a spot that cannot be told without waiting.
var errUnknown = errors.New("the host must be asked where it is")

// known is the spot for a request when the host need not be asked.
func (l *lane) known(env *wire.Envelope) (*spot, error) {
	st := l.c.asKnown(env)
	if st == nil {
		return nil, errUnknown
	}
	return l.resolve(l.c.life, st)
}

// asKnown is where the session stands if the host need not be asked, else nil.
func (c *Conn) asKnown(env *wire.Envelope) *stand {
	if !c.look.mu.TryLock() {
		return nil
	}
	defer c.look.mu.Unlock()
	st, facts := c.known(env)
	if st == nil || c.mustLook(st) {
		return nil
	}
	return c.take(facts, st.stale)
}

// known is where the session stood last and the facts that hold for env.
func (c *Conn) known(env *wire.Envelope) (*stand, roots.Facts) {
	c.mu.Lock()
	st := c.stand
	c.mu.Unlock()
	facts := c.given
	if st != nil {
		facts = st.facts
	}
	facts.Set = c.shared.chosen().Roots
	if env != nil && env.Meta != (wire.Span{}) {
		if dir := roots.MetaCheckout(env.Bytes(env.Meta)); dir != "" {
			facts.Meta = dir
		}
	}
	return st, facts
}

func stale(st *stand) string {
	if st == nil {
		return ""
	}
	return st.stale
}

// mustLook decides whether the host is asked before the next request. One that
// declares no roots never is, nor one whose directory a person chose; the others
// at first, when they say so, when an ancestor of the shim stands elsewhere, and,
// unless they promised to tell, when the last look is a second old. Needs look.mu.
func (c *Conn) mustLook(st *stand) bool {
	host := c.facts()
	if !host.roots || c.given.Flag != "" || c.given.Var != "" || len(c.shared.chosen().Roots) > 0 {
		return false
	}
	if st == nil || c.look.at.IsZero() || c.look.dirty.Load() {
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
