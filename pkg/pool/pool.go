// Package pool keeps the instances of one definition: one per key, started
// once however many ask, leased to calls, limited, evicted and reaped. It knows
// neither processes nor the protocol: a Dial function makes them.
package pool

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/scope"
)

// Upstream is a started server as a pool sees it.
type Upstream interface {
	Mux() *mux.Mux
	Done() <-chan struct{} // closed when the server has ended
	Failure() error        // why, once Done is closed; must not wait for long
	// Stop ends the server and waits until nothing of it is left. Once ctx ends
	// it must not be patient with it any more.
	Stop(ctx context.Context) error
}

// DialFunc starts the server for one key, and bounds the start itself. ctx is
// the instance's life, never a caller's: a caller who gives up does not take the
// process from the others. rs and cc are of the caller who created the key's
// first instance, for restarts too (record 0004 §2, design D4). id names the
// instance.
type DialFunc func(ctx context.Context, id string, rs scope.ResolvedScope, cc scope.CallContext) (Upstream, error)

// Options are a pool's. Dial and Limits are needed.
type Options struct {
	Dial   DialFunc
	Limits *Limits // shared by all pools of a daemon
	Log    *slog.Logger
}

// Pool holds the instances of one definition.
type Pool struct {
	def    config.Resolved
	dial   DialFunc
	log    *slog.Logger
	limits *Limits

	hurry context.Context // ends when Close's patience does: stops are hard then
	rush  context.CancelFunc
	wg    sync.WaitGroup // the instances' lives

	// Guarded by limits.mu.
	max         int
	idleTimeout time.Duration
	current     map[string]*instance // by key: the one that is, or will be, leased
	live        []*instance          // starting, connected or ending
	records     map[string]*record   // by key, see recordKey
	retired     bool
	closed      bool
}

// New makes the pool of one definition. It starts nothing.
func New(def config.Resolved, o Options) *Pool {
	p := &Pool{
		def: def, dial: o.Dial, log: o.Log, limits: o.Limits,
		max: def.Max, idleTimeout: def.IdleTimeout,
		current: map[string]*instance{}, records: map[string]*record{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.hurry, p.rush = context.WithCancel(context.Background())
	p.limits.mu.Lock()
	p.limits.pools = append(p.limits.pools, p)
	p.limits.mu.Unlock()
	return p
}

// SetLimits changes max and idleTimeout: the smallest among live views (design
// §3). Idle instances above max are stopped.
func (p *Pool) SetLimits(max int, idle time.Duration) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	p.max, p.idleTimeout = max, idle
	p.trim()
	p.limits.dispatch()
}

// Acquire returns a lease on the instance for rs.Key, starting one if there is
// none. ctx bounds this caller's wait, not the instance's life. Those who wait
// for a place or a turn get it in rounds, each session once in a round, and wait
// for at most startTimeout, then get a *LimitError; a key whose last start failed a moment ago gets a
// *BackoffError at once.
func (p *Pool) Acquire(ctx context.Context, rs scope.ResolvedScope, cc scope.CallContext) (*Lease, error) {
	l, w, err := p.join(rs, cc)
	if w == nil {
		return l, err
	}
	return p.await(ctx, w)
}

// join leases the instance, or stands in line for it.
func (p *Pool) join(rs scope.ResolvedScope, cc scope.CallContext) (*Lease, *waiter, error) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	switch {
	case p.retired:
		return nil, nil, p.errorf(ErrRetired)
	case p.closed:
		return nil, nil, p.errorf(ErrClosed)
	}
	in := p.current[rs.Key]
	switch {
	case in == nil:
		rec := p.record(rs.Key)
		if err := rec.backoff(p.def.Name, time.Now()); err != nil {
			return nil, nil, err
		}
		rs, first := rec.origin(rs, cc)
		in = p.newInstance(rs, first, cc.Session)
	case in.open():
		return in.lease(cc.Session), nil, nil
	}
	w := &waiter{in: in, session: cc.Session, ready: make(chan struct{})}
	in.waiters.join(w, cc.Session)
	p.limits.queue.share(in, cc.Session)
	p.limits.dispatch()
	return nil, w, nil
}

// succeed puts those who wait for a dead instance in line for its successor.
// Needs the lock.
func (p *Pool) succeed(dead *instance, now time.Time) {
	refusal := p.record(dead.rs.Key).backoff(p.def.Name, now)
	if p.closed {
		refusal = p.errorf(ErrClosed)
	}
	if refusal != nil {
		dead.dismiss(refusal)
		return
	}
	next := p.newInstance(dead.rs, dead.cc, dead.waiters.waiting[0].session)
	next.waiters, dead.waiters = dead.waiters, next.waiters
	for _, w := range next.waiters.all() {
		w.in = next
	}
}

// Running returns a lease for a call of session's without starting or waiting;
// false when that would be needed.
func (p *Pool) Running(key, session string) (*Lease, bool) {
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	in := p.current[key]
	if in == nil || p.retired || !in.open() {
		return nil, false
	}
	return in.lease(session), true
}

// trim stops idle instances above max, the least recently used first. Needs the lock.
func (p *Pool) trim() {
	for r := p.room(); r.live-r.ending > r.max; r.ending++ {
		in := oldest(p.live)
		if in == nil {
			return
		}
		in.stop("stopped to make room", ErrStopped)
	}
}

// room is the pool's. Needs the lock.
func (p *Pool) room() room {
	r := room{max: p.max, live: len(p.live)}
	for _, in := range p.live {
		switch {
		case in.phase == ending:
			r.ending++
		case in.held():
			r.held++
		}
	}
	return r
}

// ends reports whether the key's last process is not gone yet: two of one key
// never run side by side. Needs the lock.
func (p *Pool) ends(key string) bool {
	return slices.ContainsFunc(p.live, func(in *instance) bool {
		return in.phase == ending && in.rs.Key == key
	})
}
