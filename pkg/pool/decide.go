package pool

import "time"

// The ladder of back-off, and how long an instance must have lived for its end
// not to count as a failed start.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	proofLife  = 10 * time.Second
	forgetting = 10 * time.Minute // after its retry time a failure is history
)

// room is what one limit on instances leaves: how many there may be, how many
// there are, and what will become of them.
type room struct {
	max     int
	live    int // starting, connected or ending: each may be a process
	ending  int // of live: on their way out
	held    int // of live: kept for an open session, whatever happens
	claimed int // places that are kept for those ahead in the queue
}

// now is how many places are free.
func (r room) now() int { return r.max - r.live - r.claimed }

// soon is how many will be free once those that are ending are gone.
func (r room) soon() int { return r.now() + r.ending }

// limit is what stands in the way, as its config key.
type limit string

const (
	byMax          limit = "max"
	byMaxInstances limit = "daemon.maxInstances"
	byMaxStarts    limit = "daemon.maxStarts"
	bySharing      limit = "sharing"
	byPredecessor  limit = "stop" // the key's last process is not gone yet
	bySessionCalls limit = "session calls"
	bySessionStart limit = "session starts"
)

// What one session may do, however many others there are (threat T35).
const (
	sessionCalls  = 4  // processes of one call each, at once
	sessionStarts = 30 // processes started in a row; then as many a minute

	betweenStarts = time.Minute / sessionStarts
	settled       = 10 * time.Second // unused for so long, an instance is anybody's to take
)

// allowance is what one session has left, as decideAdmit sees it.
type allowance struct {
	calls int  // further processes of one call each
	start bool // it may start a process now
}

// account is when a session's starts are paid for, the zero time if all are:
// each costs betweenStarts, and no more than sessionStarts are lent.
type account time.Time

// opens is when the next start is lent.
func (a account) opens() time.Time {
	return time.Time(a).Add(-(sessionStarts - 1) * betweenStarts)
}

// charge is the account after one more start.
func (a account) charge(now time.Time) account {
	at := time.Time(a)
	if at.Before(now) {
		at = now
	}
	return account(at.Add(betweenStarts))
}

// step is what to do about the next key in the queue.
type step uint8

const (
	start step = iota
	wait
	evictOwn // make room in this pool, then wait for it
	evictAny // make room in any pool, then wait for it
	refuse   // waiting would be for a session to end
)

type verdict struct {
	step  step
	limit limit // what it waits for, or is refused by
}

// decideAdmit says what becomes of a key that wants an instance: own is the
// room in its pool, all the daemon's, starts the number of starts that may
// still begin, predecessor whether the key's last process is still ending, mine
// what is left to its session. It evicts for nobody who could not start then.
func decideAdmit(own, all room, starts int, predecessor bool, mine allowance) verdict {
	evict := func(s step, l limit) verdict {
		if starts <= 0 {
			s = wait
		}
		return verdict{s, l}
	}
	switch {
	case own.held >= own.max:
		return verdict{refuse, byMax}
	case all.held >= all.max:
		return verdict{refuse, byMaxInstances}
	case mine.calls <= 0:
		return verdict{wait, bySessionCalls}
	case !mine.start:
		return verdict{wait, bySessionStart}
	case own.soon() <= 0:
		return evict(evictOwn, byMax)
	case own.now() <= 0:
		return verdict{wait, byMax}
	case predecessor:
		return verdict{wait, byPredecessor}
	case all.soon() <= 0:
		return evict(evictAny, byMaxInstances)
	case all.now() <= 0:
		return verdict{wait, byMaxInstances}
	case starts <= 0:
		return verdict{wait, byMaxStarts}
	}
	return verdict{start, ""}
}

// victim is the instance that is taken away so that one of session's may start:
// the least recently used of those that are idle and not kept for an open
// session (design D17), of session's own first, that is of those it used last.
// One that another session used just now goes only if that one has more places
// than session has: who walks through directories takes nobody's away. Nil when
// there is none; at is then when there may be one.
func victim(instances []*instance, session string, now time.Time) (lru *instance, at time.Time) {
	places := map[string]int{}
	for _, in := range instances {
		places[in.by]++
	}
	for _, in := range instances {
		if !in.idle() || in.held() {
			continue
		}
		until := in.lastUsed.Add(settled)
		switch {
		case in.by != session && now.Before(until) && places[in.by] <= places[session]:
			if at.IsZero() || until.Before(at) {
				at = until
			}
		case lru == nil, in.by == session && lru.by != session:
			lru = in
		case (in.by == session) == (lru.by == session) && in.lastUsed.Before(lru.lastUsed):
			lru = in
		}
	}
	if lru != nil {
		at = time.Time{}
	}
	return lru, at
}

// oldest is the least recently used of the instances that may be taken away.
func oldest(instances []*instance) (lru *instance) {
	for _, in := range instances {
		if in.idle() && !in.held() && (lru == nil || in.lastUsed.Before(lru.lastUsed)) {
			lru = in
		}
	}
	return lru
}

// expired reports whether an instance is to be reaped: idle for long enough, or
// its session gone for long enough. idleTimeout 0 is never.
func expired(in *instance, now time.Time, idleTimeout time.Duration) bool {
	switch {
	case !in.idle():
		return false
	case !in.orphanAt.IsZero():
		return !now.Before(in.orphanAt)
	case in.held():
		return false
	}
	return idleTimeout > 0 && now.Sub(in.lastUsed) >= idleTimeout
}

// nextRetry is the pause after so many failures in a row: 1 s, 2 s, 4 s … 60 s.
func nextRetry(failures int) time.Duration {
	pause := firstRetry
	for i := 1; i < failures && pause < lastRetry; i++ {
		pause *= 2
	}
	return min(pause, lastRetry)
}
