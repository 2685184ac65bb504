package remote

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// post is one line on its way to the server.
type post struct {
	line   []byte
	env    wire.Envelope
	method string
	key    string // canonical id of a request, else ""
	after  *post  // the request that it takes back
	begun  chan struct{}
	begin  func() // closes begun: it is on the wire, or will not be

	// Guarded by Conn.mu.
	cancel   context.CancelFunc // nil while it waits for its turn
	answered bool
	given    bool // up: nobody waits for it any more
}

// lane sends lines in their order, so many at once.
type lane struct {
	slots chan struct{}
	wake  chan struct{}
	queue []*post // guarded by Conn.mu
}

func newLane(width int) *lane {
	return &lane{slots: make(chan struct{}, width), wake: make(chan struct{}, 1)}
}

// Write sends whole lines, newline included. It never blocks: when too much waits
// for its turn it returns stdio.ErrFull, and after the end another error; then
// nothing was sent.
func (c *Conn) Write(lines []byte) error {
	var posts []*post
	for line := range bytes.Lines(lines) {
		if p := newPost(bytes.TrimSuffix(line, []byte("\n"))); p != nil {
			posts = append(posts, p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failure != nil:
		return errEnded
	case len(c.requests.queue)+len(c.asides.queue)+len(posts) > maxQueued, c.queued+len(lines) > maxBytes && c.queued > 0:
		return stdio.ErrFull
	}
	for _, p := range posts {
		c.enqueueLocked(p)
	}
	return nil
}

// newPost makes a post of a line, which it copies; nil for what is no message.
func newPost(line []byte) *post {
	p := &post{line: bytes.Clone(line), begun: make(chan struct{})}
	p.begin = sync.OnceFunc(func() { close(p.begun) })
	var err error
	if p.env, err = wire.Scan(p.line); err != nil {
		return nil
	}
	p.method = p.env.Text(p.env.Method)
	if p.env.Kind == wire.Request {
		p.key, _ = wire.CanonicalID(p.env.Bytes(p.env.ID))
	}
	return p
}

// enqueueLocked puts a post where it belongs. A modern server is told nothing but
// requests: "closing the SSE response stream is itself the cancellation signal",
// and it asks nothing that could be answered.
func (c *Conn) enqueueLocked(p *post) {
	modern := c.hs.Era == upstream.Modern
	l := c.asides
	switch {
	case p.env.Kind == wire.Request:
		l = c.requests
		c.inflight[p.key] = p
		c.replay.note(p)
	case p.method == "notifications/cancelled":
		if !c.giveUpLocked(p) || modern {
			return
		}
	case modern && p.env.Kind != wire.Notification:
		return
	}
	l.queue = append(l.queue, p)
	c.queued += len(p.line)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// giveUpLocked takes a request back. It reports whether the server has to hear
// of it: not when the request never reached it.
func (c *Conn) giveUpLocked(p *post) (tell bool) {
	key, _ := wire.CanonicalID(p.env.Bytes(p.env.RequestID))
	q := c.inflight[key]
	if q == nil || q.given {
		return false
	}
	q.given = true
	if q.cancel == nil {
		delete(c.inflight, key)
		c.requests.queue = slices.DeleteFunc(c.requests.queue, func(o *post) bool { return o == q })
		c.queued -= len(q.line)
		return false
	}
	if p.after = q; c.hs.Era == upstream.Modern {
		q.cancel()
	}
	return true
}

// send sends what is in a lane, until the end.
func (c *Conn) send(l *lane) {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-c.life.Done():
			return
		}
		p, ctx, cancel := c.next(l)
		if p == nil {
			return
		}
		c.wg.Go(func() {
			defer func() { <-l.slots }()
			defer cancel()
			defer p.begin()
			c.run(ctx, p)
		})
		select { // the next one does not overtake it
		case <-p.begun:
		case <-c.life.Done():
			return
		}
	}
}

// next takes the next post of a lane, nil at the end.
func (c *Conn) next(l *lane) (*post, context.Context, context.CancelFunc) {
	for {
		c.mu.Lock()
		if len(l.queue) > 0 && c.life.Err() == nil {
			p := l.queue[0]
			l.queue = l.queue[1:]
			c.queued -= len(p.line)
			ctx, cancel := context.WithTimeout(c.life, p.patience())
			p.cancel = cancel
			c.mu.Unlock()
			return p, ctx, cancel
		}
		c.mu.Unlock()
		select {
		case <-l.wake:
		case <-c.life.Done():
			return nil, nil, nil
		}
	}
}

// patience is how long a post may take. Whoever waits for a request gives it up
// long before; a subscription lasts as long as it is wanted.
func (p *post) patience() time.Duration {
	switch {
	case p.key == "":
		return shortTime
	case p.method == "subscriptions/listen":
		return 365 * 24 * time.Hour
	}
	return longTime
}

// run sends one post and sees to it that a request is answered.
func (c *Conn) run(ctx context.Context, p *post) {
	if p.after != nil {
		select { // it must not arrive before what it takes back
		case <-p.after.begun:
		case <-ctx.Done():
		}
		defer p.after.cancel()
	}
	t := c.exchange(ctx, p)
	c.mu.Lock()
	if c.inflight[p.key] == p {
		delete(c.inflight, p.key)
	}
	open := p.key != "" && !p.answered && !p.given && c.failure == nil
	unheard := p.method == "subscriptions/listen" && p.given && !p.answered && c.failure == nil
	if open && t != nil && p.method != "subscriptions/listen" { // that ends, and is begun anew, all the time
		c.last = c.keys.mask(t.msg)
	}
	c.mu.Unlock()
	switch {
	case unheard: // who ends a listen waits for its end, and that of the stream is all there is
		c.deliver(wire.AppendResult(nil, p.env.Bytes(p.env.ID), []byte("{}")))
	case t == nil:
	case t.fatal:
		c.fail(t)
	case open:
		f := c.failed(t)
		trouble := upstream.Trouble{Reason: f.Error(), Server: c.plan.Server, Hint: t.hint}
		c.deliver(wire.AppendError(nil, p.env.Bytes(p.env.ID), code, f.Error(), trouble.Data()))
	case p.key == "":
		c.opts.Log.Debug("told the server in vain", "server", c.plan.Server, "err", c.keys.mask(t.msg))
	}
}
