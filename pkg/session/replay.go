package session

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/wire"
)

// tellWait bounds how long a server may take to take in what a host wants to hear.
const tellWait = 2 * time.Second

// setLevel tells every server of a roof how much of its log the host wants; those
// that start later are told then.
func (c *Conn) setLevel(m *message) {
	level := m.Text(m.Level)
	c.mu.Lock()
	c.level = level
	c.keep()
	var ports []*port
	for _, l := range c.lanes {
		if l.current != nil {
			ports = append(ports, l.current)
		}
	}
	c.mu.Unlock()
	id, mark := bytes.Clone(m.Bytes(m.ID)), m.mark
	c.begun(func() {
		ctx, cancel := context.WithTimeout(c.life, tellWait)
		defer cancel()
		var all sync.WaitGroup
		for _, p := range ports {
			all.Go(func() { p.Tell(ctx, level, nil) })
		}
		all.Wait()
		c.reply(wire.AppendResult(nil, id, []byte("{}")))
		c.done(mark)
	})
}

// subscribes keeps the instance for as long as the host is subscribed to
// something there, and sees to it that a next one is told.
func (p *port) subscribes(lease *pool.Lease) {
	c := p.lane.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.pin != nil || c.life.Err() != nil {
		return
	}
	p.pin, p.unpinned = lease.Pin(), make(chan struct{})
	unpinned := p.unpinned
	c.start(func() {
		select {
		case <-p.on.Done():
			p.lane.resubscribe()
		case <-unpinned:
		case <-c.life.Done():
		}
	})
}

// subscribed notes, when the server has answered, what the host is subscribed to
// now.
func (p *port) subscribed() {
	c := p.lane.c
	uris := p.Subscriptions()
	c.mu.Lock()
	defer c.mu.Unlock()
	p.lane.subs = uris
	c.keep()
	if len(uris) == 0 {
		p.unpin()
	}
}

// subscribe subscribes to resources of the server, for a host that does not
// speak to it of each by itself.
func (l *lane) subscribe(s *spot, uris []string) error {
	lease, err := l.lease(l.c.life, s)
	if err != nil {
		return err
	}
	defer lease.Release()
	p := l.enter(lease, !s.perCall())
	if p == nil {
		return errClosed
	}
	defer p.leave()
	p.subscribes(lease)
	ctx, cancel := context.WithTimeout(l.c.life, tellWait)
	defer cancel()
	p.Tell(ctx, "", uris)
	p.subscribed()
	return nil
}

// unpin lets the instance go. Needs c.mu.
func (p *port) unpin() {
	if p.pin != nil {
		close(p.unpinned)
		p.pin.Release()
		p.pin = nil
	}
}

// resubscribe starts a server again that ended while the host was subscribed to
// something there, as often as it takes, and tells the host to look again: what
// changed in between nobody saw.
func (l *lane) resubscribe() {
	c := l.c
	for {
		c.mu.Lock()
		uris := l.subs
		c.mu.Unlock()
		if len(uris) == 0 {
			return
		}
		wait := resubscribeWait
		s, err := l.resolve(c.life, c.guess())
		if err == nil && s.verdict.server != nil && s.missing() == nil {
			var lease *pool.Lease
			if lease, err = l.lease(c.life, s); err == nil {
				if p := l.enter(lease, !s.perCall()); p != nil {
					p.leave()
				}
				lease.Release()
				l.updated(uris)
				return
			}
		}
		if off, ok := errors.AsType[*pool.BackoffError](err); ok {
			wait = off.Retry
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-c.life.Done():
			t.Stop()
			return
		}
	}
}

// resubscribeWait is the pause after a server could not be started for its
// subscribers, when nothing says how long it should be.
const resubscribeWait = 30 * time.Second

func (l *lane) updated(uris []string) {
	for _, uri := range uris {
		params := append(wire.AppendString([]byte(`{"uri":`), uri), '}')
		l.c.tellHost("notifications/resources/updated", wire.AppendNotification(nil, "notifications/resources/updated", params))
	}
}
