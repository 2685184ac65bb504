package session

import (
	"fmt"
	"time"

	"github.com/dezren39/mcpx/pkg/mux"
)

// What one connection may have under way (threat T35), calls for each server.
// The unit is the connection and not the session, whose id is what somebody
// says; and calls that a slow server has hold back none for another.
const (
	maxInFlight  = 64      // calls that a server has
	maxWaiting   = 8 << 20 // bytes of messages behind them
	perMessage   = 256     // bytes that each of those counts for, beside its line
	usualTimeout = time.Minute
)

// crowded is a request that does not fit beside the connection's others.
type crowded struct {
	server string
	waited time.Duration // 0: for maxWaiting, else behind maxInFlight
}

func (e *crowded) Error() string {
	if e.waited == 0 {
		return fmt.Sprintf("server %q: %d MiB of this connection's requests are waiting, which is the most that may", e.server, maxWaiting>>20)
	}
	return fmt.Sprintf("server %q: %d calls of this connection are in flight, which is the most there may be, and this one waited %s behind them", e.server, maxInFlight, e.waited)
}

// Hint says how to do with less.
func (e *crowded) Hint() string {
	if e.waited == 0 {
		return "wait for answers before you send more"
	}
	return fmt.Sprintf(`send fewer calls at once, or let them wait for longer: raise "startTimeout" in the "mcpx" block of %q`, e.server)
}

// full reports whether the next call has to wait for others. A call whose
// answer is on its way to the host is none of those: the host may send the next
// one before the last is cleared away.
func (l *lane) full() bool {
	if l.c.sent.Load() < mux.Few { // to all servers together
		return false
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	full, crowds := l.held()
	return full || crowds
}

// inFlight needs c.mu.
func (l *lane) inFlight() (n int) {
	for _, p := range l.c.ports {
		if p.lane == l {
			n += p.InFlight()
		}
	}
	return n
}

// held reports what the next call would wait for: until another ends, or, since
// others call too, at most a moment. Needs c.mu.
func (l *lane) held() (full, crowds bool) {
	return l.inFlight() >= maxInFlight, l.current != nil && l.current.Crowds()
}

// awaitRoom holds a request back until the server has fewer calls than it may,
// at most for startTimeout: then it returns what the host is told.
func (l *lane) awaitRoom(it *item) error {
	c := l.c
	for l.full() {
		c.mu.Lock()
		full, crowds := l.held()
		if !full && !crowds {
			c.mu.Unlock()
			return nil
		}
		freed := c.freed
		if freed == nil {
			freed = make(chan struct{})
			c.freed = freed
		}
		patience := l.patience()
		left := patience - (time.Since(it.at) - (l.elsewhere - it.elsewhere))
		c.mu.Unlock()
		if full && left <= 0 {
			return &crowded{l.name, patience}
		}
		if !full {
			left = mux.Moment
		}
		t := time.NewTimer(left)
		select {
		case <-freed:
		case <-t.C:
		case <-it.ctx.Done():
		}
		t.Stop()
		if err := it.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// size is what a message counts for while it waits.
func (m *message) size() int { return perMessage + len(m.Line) }

// patience is how long a request waits for room. Needs c.mu.
func (l *lane) patience() time.Duration {
	if l.spot == nil || l.spot.verdict.server == nil {
		return usualTimeout
	}
	return l.spot.verdict.server.StartTimeout
}

// waitedElsewhere counts the time that those in the queue spend behind what is
// no matter of how many calls there are: a start, a question to the host.
func (l *lane) waitedElsewhere(since time.Time) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.elsewhere += time.Since(since)
}

// forgo takes a request that waits out of the queue; false when its turn has
// come, and whoever places it will see that it is cancelled.
func (l *lane) forgo(it *item) bool {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range l.queue {
		if o == it {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			c.queued -= it.size()
			delete(c.waiting, it.id)
			return true
		}
	}
	return false
}
