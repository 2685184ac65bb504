package session

import (
	"context"
	"errors"
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

// item is a message that waits for its turn: requests to one server keep their
// order through roots, start and queue (design D14).
type item struct {
	lane    *lane  // nil: it is not known yet
	message        // on a copy of its line; Kind Invalid: only look where the host is
	id      string // canonical; "" for what is not a request
	ctx     context.Context
	cancel  context.CancelFunc

	at        time.Time     // it came
	elsewhere time.Duration // the connection's, then
}

// start runs f in a goroutine of the connection's; false when it is closed. Needs
// c.mu, so that Close waits for all that was started.
func (c *Conn) start(f func()) bool {
	if c.life.Err() != nil {
		return false
	}
	c.wg.Go(f)
	return true
}

// enqueue puts a copy of m at the end of the queue. Without force it does so
// only when something is ahead; else it makes the caller the one who places
// requests, who must call next or requeue.
func (l *lane) enqueue(m *message, force bool) bool {
	c := l.c
	c.mu.Lock()
	if !l.busy && !force {
		l.busy = true
		c.mu.Unlock()
		return false
	}
	it, err := l.newItem(m)
	if err == nil {
		l.queue = append(l.queue, it)
		if !l.busy {
			l.busy = true
			c.start(l.work)
		}
	}
	c.mu.Unlock()
	if err != nil {
		l.turnAway(m, err)
	}
	return true
}

// follow puts a copy of m behind what is ahead, if anything is.
func (l *lane) follow(m *message) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.busy {
		if it, err := l.newItem(m); err == nil {
			l.queue = append(l.queue, it)
		}
	}
}

// requeue is for the caller whom enqueue made the one who places: the request
// has to wait, so a goroutine takes over.
func (l *lane) requeue(m *message) {
	c := l.c
	c.mu.Lock()
	it, err := l.newItem(m)
	if err == nil {
		l.queue = append([]*item{it}, l.queue...)
	}
	c.start(l.work)
	c.mu.Unlock()
	if err != nil {
		l.turnAway(m, err)
	}
}

// errTwice is a request whose id an earlier one still has.
var errTwice = errors.New("this id is in use by an earlier request")

// turnAway answers a message that cannot wait. A notification has no answer.
func (l *lane) turnAway(m *message, err error) {
	c := l.c
	switch {
	case m.Kind != wire.Request:
		c.dealt(m.mark)
		return
	case errors.Is(err, errTwice):
		c.send(wire.AppendError(nil, m.Bytes(m.ID), wire.CodeInvalid, err.Error(), nil))
	default:
		l.failed(&m.Envelope, err)
	}
	c.done(m.mark)
}

// next hands the turn on.
func (l *lane) next() {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy = false
		return
	}
	c.start(l.work)
}

// newItem needs c.mu. An error says why m cannot wait.
func (l *lane) newItem(m *message) (*item, error) {
	c := l.c
	id := ""
	if m.Kind == wire.Request {
		id, _ = wire.CanonicalID(m.Bytes(m.ID))
		if _, twice := c.waiting[id]; twice {
			return nil, errTwice
		}
	}
	if c.queued > 0 && c.queued+m.size() > maxWaiting { // the first may have any size
		return nil, &crowded{server: l.name}
	}
	it := &item{lane: l, message: m.clone(), id: id, at: time.Now(), elsewhere: l.elsewhere}
	if m.Kind == wire.Request {
		c.waiting[id] = it
	}
	c.queued += it.size()
	it.ctx, it.cancel = context.WithCancel(c.life)
	return it, nil
}

// work places what waits, in order, until nothing does or the connection ends.
func (l *lane) work() {
	c := l.c
	for {
		c.mu.Lock()
		if len(l.queue) == 0 || c.life.Err() != nil {
			l.busy = false
			c.mu.Unlock()
			return
		}
		it := l.queue[0]
		l.queue = l.queue[1:]
		c.queued -= it.size()
		c.mu.Unlock()
		l.turn(it)
		it.cancel()
	}
}

// turn places one item.
func (l *lane) turn(it *item) {
	c := l.c
	if met := c.unmet(); met != nil {
		<-met // it bounds itself, and ends with the connection
	}
	c.awaitInitialized(it.ctx)
	switch it.Kind {
	case wire.Invalid:
		_, _ = l.where(it.ctx, nil) // a failure is the next request's to tell
		return
	case wire.Notification:
		if string(method(&it.Envelope)) == cancelled {
			c.cancelSent(&it.Envelope)
		} else {
			l.tell(&it.Envelope)
		}
		c.dealt(it.mark)
		return
	}
	if isList(&it.Envelope) && l.keptList(&it.Envelope) { // its turn came late: the handshake was not answered
		c.mu.Lock()
		delete(c.waiting, it.id)
		c.mu.Unlock()
		c.done(it.mark)
		return
	}
	if string(method(&it.Envelope)) == listenMethod {
		c.mu.Lock()
		delete(c.waiting, it.id)
		c.mu.Unlock()
		c.listens(&it.message)
		return
	}
	for tries := 1; !l.attempt(it, tries == maxTries); tries++ {
	}
}

// maxTries is how many processes in a row may end before they get a request,
// until their end is its answer.
const maxTries = 3

// attempt gets a request to an instance; false when that ended before it got it.
func (l *lane) attempt(it *item, last bool) bool {
	c := l.c
	c.mu.Lock()
	c.waiting[it.id] = it
	c.mu.Unlock()
	lease, s, err := l.acquire(it)
	c.mu.Lock()
	delete(c.waiting, it.id)
	gone := it.ctx.Err() != nil
	c.mu.Unlock()
	switch {
	case gone:
		if lease != nil {
			lease.Release()
		}
		c.forgotten(it.id)
		c.done(it.mark)
	case err != nil:
		l.failed(&it.Envelope, err)
		c.done(it.mark)
	case lease == nil:
		return l.goOn(&it.message, s)
	default:
		return l.submit(&it.message, s, lease, last)
	}
	return true
}

// awaitInitialized holds requests back that came before the host said that it
// is ready, but not for long, and not again for one that never says so.
func (c *Conn) awaitInitialized(ctx context.Context) {
	if c.ready() {
		return
	}
	t := time.NewTimer(initializedWait)
	defer t.Stop()
	select {
	case <-c.initialized:
	case <-t.C:
		c.once.Do(func() { close(c.initialized) })
	case <-ctx.Done():
	}
}

// ready reports whether the host has said that it is, or had its time to.
func (c *Conn) ready() bool {
	select {
	case <-c.initialized:
		return true
	default:
		return false
	}
}
