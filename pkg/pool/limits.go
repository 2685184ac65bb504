package pool

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Limits are the daemon-wide ones, live instances and starts at once, those of
// each session, and the queue of those who wait for a place. One lock guards all
// the pools that share them, so that an instance of one can make room for
// another's, and so that no limit is exceeded even for a moment.
type Limits struct {
	mu           sync.Mutex // guards what follows, and what the pools say it guards
	maxInstances int
	maxStarts    int
	minted       uint64
	pools        []*Pool
	queue        line[*instance]
	accounts     map[string]account // by session: its starts, while they are not paid for
	timer        *time.Timer        // looks again when a wait ends by the clock alone
}

// NewLimits makes the limits that all pools of a daemon share.
func NewLimits(maxInstances, maxStarts int) *Limits {
	return &Limits{maxInstances: maxInstances, maxStarts: maxStarts, accounts: map[string]account{}}
}

// Set changes the limits. Idle instances above maxInstances end when another
// wants a place; none is stopped for the number alone.
func (l *Limits) Set(maxInstances, maxStarts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxInstances, l.maxStarts = maxInstances, maxStarts
	l.dispatch()
}

// mint makes the name of an instance, unique in the daemon's life. Needs the lock.
func (l *Limits) mint() string {
	l.minted++
	return strconv.FormatUint(l.minted, 10)
}

// dispatch goes through the queue once and starts what there is room for. Every
// change that may have made room ends with it. Needs the lock.
func (l *Limits) dispatch() {
	if l.queue.len() == 0 {
		return
	}
	now := time.Now()
	all, starts := l.room()
	owns := map[*Pool]*room{}
	var again time.Time
	look := func(at time.Time) {
		if !at.IsZero() && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	for _, place := range slices.Clone(l.queue.waiting) {
		in, session := place.who, place.session
		own := owns[in.pool]
		if own == nil {
			r := in.pool.room()
			own, owns[in.pool] = &r, &r
		}
		v := decideAdmit(*own, all, starts, in.pool.ends(in.rs.Key), l.allowance(session, in, now))
		in.blocked = v.limit
		var evicted *instance
		var at time.Time
		switch v.step {
		case start:
			l.charge(session, now)
			in.move(starting)
			own.live++
			all.live++
			starts--
			if in.owned {
				own.held++
				all.held++
			}
			continue
		case refuse:
			in.stop("", in.pool.limitError(in, 0))
			continue
		case evictOwn:
			evicted, at = victim(in.pool.live, session, now)
		case evictAny:
			evicted, at = victim(l.live(), session, now)
		}
		look(at)
		if evicted != nil {
			evicted.stop("stopped to make room", ErrStopped)
			all.ending++
			if r := owns[evicted.pool]; r != nil {
				r.ending++
			}
		}
		switch v.limit {
		case bySessionStart:
			look(l.accounts[session].opens())
			continue
		case bySessionCalls:
			continue
		}
		// A place is kept for it, so that nobody behind it takes that or makes
		// room once more. One that waits for its own pool's calls to end keeps
		// no place among the daemon's: other pools need not wait for those.
		// Nor does one that waits for what is its session's own.
		if v.limit != byMax || own.soon() > 0 {
			all.claimed++
		}
		own.claimed++
	}
	l.lookAt(again)
}

// lookAt has dispatch run again at a time, never if it is zero. Needs the lock.
func (l *Limits) lookAt(at time.Time) {
	switch {
	case l.timer != nil && at.IsZero():
		l.timer.Stop()
	case at.IsZero():
	case l.timer != nil:
		l.timer.Reset(time.Until(at))
	default:
		l.timer = time.AfterFunc(time.Until(at), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.dispatch()
		})
	}
}

// allowance is what is left to a session that wants in. Needs the lock.
func (l *Limits) allowance(session string, in *instance, now time.Time) allowance {
	a := allowance{calls: sessionCalls, start: !now.Before(l.accounts[session].opens())}
	if !in.perCall {
		return a
	}
	for _, other := range l.live() {
		if other.perCall && other.by == session {
			a.calls--
		}
	}
	return a
}

// charge counts a start of session's. Needs the lock.
func (l *Limits) charge(session string, now time.Time) {
	maps.DeleteFunc(l.accounts, func(_ string, a account) bool { return !now.Before(time.Time(a)) })
	l.accounts[session] = l.accounts[session].charge(now)
}

// room is the daemon's, and how many starts may begin. Needs the lock.
func (l *Limits) room() (all room, starts int) {
	all.max, starts = l.maxInstances, l.maxStarts
	for _, p := range l.pools {
		r := p.room()
		all.live += r.live
		all.ending += r.ending
		all.held += r.held
		for _, in := range p.live {
			if in.phase == starting {
				starts--
			}
		}
	}
	return all, starts
}

// live are all pools' instances. Needs the lock.
func (l *Limits) live() (live []*instance) {
	for _, p := range l.pools {
		live = append(live, p.live...)
	}
	return live
}
