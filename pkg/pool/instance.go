package pool

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

// phase is where an instance stands. It only grows.
type phase uint8

const (
	queued    phase = iota // waits for a place; nothing runs
	starting               // Dial is at work
	connected              // may be leased
	ending                 // not leased any more, and not gone
	gone
)

// instance is one process of a pool, from the first wish for it to its end.
type instance struct {
	pool    *Pool
	id      string
	rs      scope.ResolvedScope
	cc      scope.CallContext
	owned   bool            // the key belongs to a session (session, psession, pid)
	perCall bool            // it ends with its one lease
	life    context.Context // ends when the instance is to stop
	end     context.CancelFunc
	over    chan struct{} // closed when nothing of it is left

	// Guarded by pool.limits.mu, up once it is connected by nothing.
	phase     phase
	up        Upstream
	leases    int
	turn      bool // an exclusive call is in progress
	waiters   line[*waiter]
	by        string // the session it is started for, then the one that used it last
	blocked   limit  // what it waits for while queued
	startedAt time.Time
	lastUsed  time.Time
	orphanAt  time.Time // when to stop it, its session being gone; zero while it has one
	why       string    // it ends, for the log
}

// newInstance puts the instance of key into the queue, where it waits on behalf
// of session. cc is of the caller who created the key. Needs the lock.
func (p *Pool) newInstance(rs scope.ResolvedScope, cc scope.CallContext, session string) *instance {
	perCall := scope.PerCall(rs.Key)
	in := &instance{
		pool: p, id: p.limits.mint(), rs: rs, cc: cc, by: session,
		owned: scope.CallerOwned(rs.Key) && !perCall, perCall: perCall,
		over: make(chan struct{}),
	}
	in.life, in.end = context.WithCancel(context.Background())
	in.move(queued)
	return in
}

// move is the one place where an instance changes phase, and with it the
// tables that others count by. Needs the lock.
func (in *instance) move(to phase) {
	p, l, key := in.pool, in.pool.limits, in.rs.Key
	switch to {
	case queued:
		p.current[key] = in
		l.queue.join(in, in.by)
	case starting:
		in.by = l.queue.session(in)
		l.queue.serve(in)
		p.live = append(p.live, in)
		in.startedAt = time.Now()
		p.wg.Go(in.run)
	case connected:
		in.lastUsed = time.Now()
	case ending:
		delete(p.current, key)
		in.end()
	case gone:
		if in.phase == queued {
			l.queue.leave(in)
		}
		if p.current[key] == in {
			delete(p.current, key)
		}
		p.live = slices.DeleteFunc(p.live, func(o *instance) bool { return o == in })
		in.end()
		close(in.over)
	}
	in.phase = to
}

// run is the instance's life, in a goroutine of its own.
func (in *instance) run() {
	up, err := in.pool.dial(in.life, in.id, in.rs, in.cc)
	if err != nil {
		in.failed(err)
		return
	}
	if in.opened(up) {
		select {
		case <-up.Done():
			in.died(up.Failure())
		case <-in.life.Done():
		}
	}
	in.ended(up.Stop(in.pool.hurry))
}

// failed ends a start that came to nothing.
func (in *instance) failed(err error) {
	p := in.pool
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	if in.phase == starting { // else it was stopped, which is not its failure
		p.record(in.rs.Key).failed(err, time.Now())
	}
	in.dismiss(err)
	in.move(gone)
	p.limits.dispatch()
}

// opened takes the started server in, and says whether it is still wanted.
func (in *instance) opened(up Upstream) bool {
	l := in.pool.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	in.up = up
	if in.phase != starting {
		return false
	}
	in.move(connected)
	in.grant()
	in.settleDown()
	l.dispatch()
	return in.phase == connected
}

// died takes away a server that ended by itself. Those who wait for it get the
// next one, started once for all of them.
func (in *instance) died(err error) {
	p := in.pool
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	if in.phase != connected {
		return
	}
	now, rec := time.Now(), p.record(in.rs.Key)
	if now.Sub(in.startedAt) < proofLife {
		rec.died(err, now)
	} else {
		rec.forgive()
	}
	in.why = "ended by itself"
	in.move(ending)
	if in.waiters.len() > 0 {
		p.succeed(in, now)
	}
	p.limits.dispatch()
}

// ended says that nothing of the instance is left.
func (in *instance) ended(err error) {
	p := in.pool
	p.limits.mu.Lock()
	in.move(gone)
	if !in.orphanAt.IsZero() && p.current[in.rs.Key] == nil {
		delete(p.records, in.rs.Key)
	}
	p.limits.dispatch()
	why, lived := in.why, time.Since(in.startedAt)
	p.limits.mu.Unlock()

	attrs := []any{"server", p.def.Name, "key", in.rs.Key, "took", lived.Round(time.Millisecond)}
	level := slog.LevelInfo
	if err != nil {
		level, attrs = slog.LevelWarn, append(attrs, "err", err)
	}
	p.log.Log(context.Background(), level, why, attrs...)
}

// stop asks the instance to end, whatever its phase; err answers those who
// wait for it. Needs the lock.
func (in *instance) stop(why string, err error) {
	switch in.phase {
	case queued:
		in.dismiss(err)
		in.move(gone)
	case starting, connected:
		in.why = why
		in.dismiss(err)
		in.move(ending)
	}
}

// open reports whether a call may go to the instance now. Nobody waits for one
// that is open: whatever opens it also grants. Needs the lock.
func (in *instance) open() bool {
	if in.phase != connected || (in.turn && in.pool.def.Sharing == config.Exclusive) {
		return false
	}
	select {
	case <-in.up.Done(): // died, and its own goroutine has not said so yet
		return false
	default:
		return true
	}
}

// lease takes one more lease, for session. Needs the lock.
func (in *instance) lease(session string) *Lease {
	in.leases++
	in.turn = true
	in.by = session
	in.orphanAt = time.Time{}
	return &Lease{in: in, turn: true}
}

// grant serves those who wait, in their order. Needs the lock.
func (in *instance) grant() {
	for in.waiters.len() > 0 && in.open() {
		w := in.waiters.waiting[0].who
		in.waiters.serve(w)
		w.settle(in.lease(w.session), nil)
	}
}

// dismiss answers all who wait with err. Needs the lock.
func (in *instance) dismiss(err error) {
	for _, w := range in.waiters.take() {
		w.settle(nil, err)
	}
}

// leave ends one lease. Needs the lock.
func (in *instance) leave(turn bool) {
	in.leases--
	in.lastUsed = time.Now()
	if turn {
		in.turn = false
	}
	in.grant()
	in.settleDown()
	in.pool.limits.dispatch()
}

// drop takes away one who no longer waits. A start in progress goes on, unless
// it was for that one alone by its scope. Needs the lock.
func (in *instance) drop(w *waiter) {
	in.waiters.leave(w)
	if in.waiters.len() == 0 && (in.phase == queued || in.perCall) {
		in.stop("stopped", ErrStopped)
	}
	in.pool.limits.dispatch()
}

// settleDown stops an instance that nobody uses and nobody will, or that is
// one too many. Needs the lock.
func (in *instance) settleDown() {
	switch {
	case !in.idle():
	case in.perCall, in.pool.retired:
		in.stop("stopped", ErrStopped)
	default:
		in.pool.trim()
	}
}

// idle reports whether the instance is up and nobody uses or awaits it.
func (in *instance) idle() bool {
	return in.phase == connected && in.leases == 0 && in.waiters.len() == 0
}

// held reports whether the instance is kept for an open session (design D17).
func (in *instance) held() bool { return in.owned && in.orphanAt.IsZero() }
