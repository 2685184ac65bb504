package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// ErrDrained is what Serve returns after Drain: the daemon is going, the host is
// not.
var ErrDrained = errors.New("the daemon is going")

// kept is what the capsule holds of a connection for the daemon that comes
// after: what the host will not say again.
type kept struct {
	Protocol     string              `json:"protocol"`
	Client       json.RawMessage     `json:"client,omitempty"`       // clientInfo
	Capabilities json.RawMessage     `json:"capabilities,omitempty"` // the host's
	Initialized  bool                `json:"initialized,omitempty"`
	Asks         []string            `json:"asks,omitempty"` // our requests that the host has not answered
	Level        string              `json:"level,omitempty"`
	Subs         map[string][]string `json:"subs,omitempty"`    // resources subscribed to, by server
	Listens      []string            `json:"listens,omitempty"` // lines of a modern host
	Chosen       *choice             `json:"chosen,omitempty"`  // the session's, chosen by hand
}

// keep saves the connection's state. Needs c.mu. A client that says too much of
// itself is a stranger to the next daemon.
func (c *Conn) keep() {
	if err := c.fit(); err != nil {
		c.o.Log.Warn("kept no state", "session", c.who.Session, "err", err)
	}
}

// fit keeps as much as fits, what has to be at least.
func (c *Conn) fit() error {
	if c.save() == nil {
		return nil
	}
	k := c.state()
	k.Client = nil
	return c.write(k)
}

// save is keep when it matters whether all of it fits.
func (c *Conn) save() error { return c.write(c.state()) }

func (c *Conn) state() kept {
	k := kept{
		Protocol: c.host.protocol, Client: c.host.clientInfo, Capabilities: c.host.capabilities,
		Initialized: c.ready(), Asks: slices.Sorted(maps.Keys(c.asks)), Level: c.level, Subs: map[string][]string{},
	}
	if chosen := c.shared.chosen(); chosen.N > 0 {
		k.Chosen = chosen
	}
	for name, l := range c.lanes {
		if len(l.subs) > 0 {
			k.Subs[name] = l.subs
		}
	}
	for _, l := range c.listening {
		if !l.open {
			k.Listens = append(k.Listens, string(l.line))
		}
	}
	return k
}

func (c *Conn) write(k kept) error {
	if c.o.Keep == nil {
		return nil
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return c.o.Keep(b)
}

// resume takes up what a daemon before kept. The state is untrusted: it says
// what the host said of itself, and what was chosen for the session by hand, as far
// as that may be now.
func (c *Conn) resume(state []byte) {
	var k kept
	if len(state) == 0 || json.Unmarshal(state, &k) != nil {
		return
	}
	if k.Chosen != nil {
		k.Chosen.Roots = slices.DeleteFunc(k.Chosen.Roots, func(dir string) bool { return c.o.May != nil && !c.o.May(dir) })
		c.shared.adopt(k.Chosen)
	}
	if k.Protocol == "" {
		return
	}
	c.host = factsOf(k.Protocol, k.Client, k.Capabilities)
	if k.Initialized {
		c.once.Do(func() { close(c.initialized) })
	}
	c.orphans, c.heard, c.level = k.Asks, k.Listens, k.Level
	for name, uris := range k.Subs {
		c.lane(name).subs = uris
	}
}

// takeUp begins a connection that another daemon had: a half-written line is
// ended, and questions that nobody waits for any more are taken back.
func (c *Conn) takeUp() {
	if c.o.MidWrite {
		_ = c.out.Write([]byte("\n"))
	}
	for _, id := range c.orphans {
		c.takeBack(id, "the daemon that asked is gone")
	}
	c.orphans = nil
	c.hearAgain(c.heard)
	c.heard = nil
	c.mu.Lock()
	c.keep()
	for _, l := range c.lanes {
		if len(l.subs) > 0 {
			c.start(l.resubscribe)
		}
	}
	c.mu.Unlock()
}

// again reports whether a request may be answered a second time: it acts on
// nothing (design D8).
func again(method string) bool {
	switch method {
	case "initialize", "ping", "completion/complete", "server/discover", "subscriptions/listen":
		return true
	}
	_, list := lists[method]
	return list
}

// lost answers a request that a daemon that is gone may have handed on: it may
// have run, so it is not sent again.
func (c *Conn) lost(m *message) {
	const reason = "the daemon was replaced while this request was in progress; whether it ran is not known"
	msg := reason
	if c.roof == nil {
		msg = fmt.Sprintf("server %q: %s", c.o.Hello.Server, reason)
	}
	c.refuse(m.Bytes(m.ID), wire.CodeInternal, msg, upstream.Trouble{
		Reason: reason, Hint: "look whether it had its effect before asking again",
	})
	c.done(m.mark)
}

// Drain makes Serve return ErrDrained: whoever calls it stops the reading, the
// calls in flight get a moment to end, and what has no answer then is left for
// the next daemon.
func (c *Conn) Drain() { c.drainOnce.Do(func() { close(c.drain) }) }
