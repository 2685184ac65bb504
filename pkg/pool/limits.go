package pool

import (
	"slices"
	"strconv"
	"sync"
)

// Limits are the daemon-wide ones, live instances and starts at once, and the
// queue of those who wait for a place. One lock guards all the pools that share
// them, so that an instance of one can make room for another's, and so that no
// limit is exceeded even for a moment.
type Limits struct {
	mu           sync.Mutex // guards what follows, and what the pools say it guards
	maxInstances int
	maxStarts    int
	minted       uint64
	pools        []*Pool
	queue        []*instance // in order of arrival
}

// NewLimits makes the limits that all pools of a daemon share.
func NewLimits(maxInstances, maxStarts int) *Limits {
	return &Limits{maxInstances: maxInstances, maxStarts: maxStarts}
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

// unqueue takes the instance out of the queue. Needs the lock.
func (l *Limits) unqueue(in *instance) {
	l.queue = slices.DeleteFunc(l.queue, func(o *instance) bool { return o == in })
}

// dispatch goes through the queue once and starts what there is room for. Every
// change that may have made room ends with it. Needs the lock.
func (l *Limits) dispatch() {
	if len(l.queue) == 0 {
		return
	}
	all, starts := l.room()
	owns := map[*Pool]*room{}
	for _, in := range slices.Clone(l.queue) {
		own := owns[in.pool]
		if own == nil {
			r := in.pool.room()
			own, owns[in.pool] = &r, &r
		}
		v := decideAdmit(*own, all, starts, in.pool.ends(in.rs.Key))
		in.blocked = v.limit
		var evicted *instance
		switch v.step {
		case start:
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
			evicted = victim(in.pool.live)
		case evictAny:
			evicted = l.victim()
		}
		if evicted != nil {
			evicted.stop("stopped to make room", ErrStopped)
			all.ending++
			if r := owns[evicted.pool]; r != nil {
				r.ending++
			}
		}
		// A place is kept for it, so that nobody behind it takes that or makes
		// room once more. One that waits for its own pool's calls to end keeps
		// no place among the daemon's: other pools need not wait for those.
		if v.limit != byMax || own.soon() > 0 {
			all.claimed++
		}
		own.claimed++
	}
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

// victim is the one to take away among all pools' instances. Needs the lock.
func (l *Limits) victim() *instance {
	var live []*instance
	for _, p := range l.pools {
		live = append(live, p.live...)
	}
	return victim(live)
}
