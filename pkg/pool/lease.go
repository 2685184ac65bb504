package pool

import (
	"context"
	"time"

	"github.com/dezren39/mcpx/pkg/mux"
)

// Lease is one call, subscription or task in progress.
type Lease struct {
	in       *instance
	turn     bool // it is the one call of an exclusive instance
	released bool // guarded by the limits' mu
}

// Mux is the instance's.
func (l *Lease) Mux() *mux.Mux { return l.in.up.Mux() }

// Upstream is what the pool's Dial made.
func (l *Lease) Upstream() Upstream { return l.in.up }

// Instance names the instance; a new process has a new one.
func (l *Lease) Instance() string { return l.in.id }

// Pin returns one more lease on the same instance that takes no turn of an
// exclusive one: for a subscription or a task, beside which calls go on. Only
// while the lease is held.
func (l *Lease) Pin() *Lease {
	mu := &l.in.pool.limits.mu
	mu.Lock()
	defer mu.Unlock()
	l.in.leases++
	return &Lease{in: l.in}
}

// Keep holds the instance beyond the lease, until release (mux.Lease).
func (l *Lease) Keep() (release func()) { return l.Pin().Release }

// Release gives the lease back; further calls do nothing. It never blocks.
func (l *Lease) Release() {
	mu := &l.in.pool.limits.mu
	mu.Lock()
	defer mu.Unlock()
	if l.released {
		return
	}
	l.released = true
	l.in.leave(l.turn)
}

// waiter is one Acquire that could not be served at once. Its fields are
// guarded by the limits' mu until ready is closed.
type waiter struct {
	in      *instance
	session string
	ready   chan struct{} // closed once, with lease or err set
	lease   *Lease
	err     error
}

// settle answers the waiter. Needs the lock.
func (w *waiter) settle(l *Lease, err error) {
	w.lease, w.err = l, err
	close(w.ready)
}

// await returns what the waiter is answered. The wait for a place or a turn is
// bounded by startTimeout; that for a start by the start itself.
func (p *Pool) await(ctx context.Context, w *waiter) (*Lease, error) {
	patience := time.NewTimer(p.def.StartTimeout)
	defer patience.Stop()
	for {
		select {
		case <-w.ready:
			return w.lease, w.err
		case <-ctx.Done():
			p.abandon(w)
			return nil, ctx.Err()
		case <-patience.C:
			if err := p.overdue(w); err != nil {
				return nil, err
			}
			patience.Reset(p.def.StartTimeout)
		}
	}
}

// overdue takes the waiter away and names the limit it waited for; nil when it
// waits for none.
func (p *Pool) overdue(w *waiter) error {
	mu := &p.limits.mu
	mu.Lock()
	defer mu.Unlock()
	if w.lease != nil || w.err != nil || w.in.phase == starting {
		return nil
	}
	err := p.limitError(w.in, p.def.StartTimeout)
	w.in.drop(w)
	return err
}

// abandon takes the waiter away; what it was given meanwhile goes back.
func (p *Pool) abandon(w *waiter) {
	mu := &p.limits.mu
	mu.Lock()
	defer mu.Unlock()
	switch {
	case w.lease != nil:
		w.lease.released = true
		w.in.leave(w.lease.turn)
	case w.err == nil:
		w.in.drop(w)
	}
}
