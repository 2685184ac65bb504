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
func (c *Conn) enqueue(m *message, force bool) bool {
	c.mu.Lock()
	if !c.busy && !force {
		c.busy = true
		c.mu.Unlock()
		return false
	}
	it, err := c.newItem(m)
	if err == nil {
		c.queue = append(c.queue, it)
		if !c.busy {
			c.busy = true
			c.start(c.work)
		}
	}
	c.mu.Unlock()
	if err != nil {
		c.turnAway(m, err)
	}
	return true
}

// requeue is for the caller whom enqueue made the one who places: the request
// has to wait, so a goroutine takes over.
func (c *Conn) requeue(m *message) {
	c.mu.Lock()
	it, err := c.newItem(m)
	if err == nil {
		c.queue = append([]*item{it}, c.queue...)
	}
	c.start(c.work)
	c.mu.Unlock()
	if err != nil {
		c.turnAway(m, err)
	}
}

// errTwice is a request whose id an earlier one still has.
var errTwice = errors.New("this id is in use by an earlier request")

// turnAway answers a message that cannot wait. A notification has no answer.
func (c *Conn) turnAway(m *message, err error) {
	switch {
	case m.Kind != wire.Request:
		c.dealt(m.mark)
		return
	case errors.Is(err, errTwice):
		c.send(wire.AppendError(nil, m.Bytes(m.ID), wire.CodeInvalid, err.Error(), nil))
	default:
		c.failed(&m.Envelope, err)
	}
	c.done(m.mark)
}

// next hands the turn on.
func (c *Conn) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.busy = false
		return
	}
	c.start(c.work)
}

// newItem needs c.mu. An error says why m cannot wait.
func (c *Conn) newItem(m *message) (*item, error) {
	id := ""
	if m.Kind == wire.Request {
		id, _ = wire.CanonicalID(m.Bytes(m.ID))
		if _, twice := c.waiting[id]; twice {
			return nil, errTwice
		}
	}
	if c.queued > 0 && c.queued+m.size() > maxWaiting { // the first may have any size
		return nil, &crowded{server: c.o.Hello.Server}
	}
	it := &item{message: m.clone(), id: id, at: time.Now(), elsewhere: c.elsewhere}
	if m.Kind == wire.Request {
		c.waiting[id] = it
	}
	c.queued += it.size()
	it.ctx, it.cancel = context.WithCancel(c.life)
	return it, nil
}

// work places what waits, in order, until nothing does or the connection ends.
func (c *Conn) work() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 || c.life.Err() != nil {
			c.busy = false
			c.mu.Unlock()
			return
		}
		it := c.queue[0]
		c.queue = c.queue[1:]
		c.queued -= it.size()
		c.mu.Unlock()
		c.turn(it)
		it.cancel()
	}
}

// turn places one item.
func (c *Conn) turn(it *item) {
	if met := c.unmet(); met != nil {
		<-met // it bounds itself, and ends with the connection
	}
	c.awaitInitialized(it.ctx)
	switch it.Kind {
	case wire.Invalid:
		_, _ = c.where(it.ctx, nil) // a failure is the next request's to tell
		return
	case wire.Notification:
		c.tell(&it.Envelope)
		c.dealt(it.mark)
		return
	}
	if c.isList(&it.Envelope) && c.keptList(&it.Envelope) { // its turn came late: the handshake was not answered
		c.mu.Lock()
		delete(c.waiting, it.id)
		c.mu.Unlock()
		c.done(it.mark)
		return
	}
	for tries := 1; !c.attempt(it, tries == maxTries); tries++ {
	}
}

// maxTries is how many processes in a row may end before they get a request,
// until their end is its answer.
const maxTries = 3

// attempt gets a request to an instance; false when that ended before it got it.
func (c *Conn) attempt(it *item, last bool) bool {
	c.mu.Lock()
	c.waiting[it.id] = it
	c.mu.Unlock()
	lease, s, err := c.acquire(it)
	c.mu.Lock()
	delete(c.waiting, it.id)
	gone := it.ctx.Err() != nil
	c.mu.Unlock()
	switch {
	case gone:
		if err == nil {
			lease.Release()
		}
		c.forgotten(it.id)
		c.done(it.mark)
	case err != nil:
		c.failed(&it.Envelope, err)
		c.done(it.mark)
	default:
		return c.submit(&it.message, s, lease, last)
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
