package session

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// listen is a subscriptions/listen of a modern host's: what it is to be told. It
// is kept for the next daemon, in the state or, when it does not fit there, by
// leaving its line open.
type listen struct {
	id     []byte // as sent
	line   []byte
	filter era.Filter
	mark   int64
	open   bool // it is not in the state
}

const listenMethod = "subscriptions/listen"

// placeListen begins a subscriptions/listen in its turn: what is asked of the
// server of its resources afterwards comes after it.
func (c *Conn) placeListen(m *message) {
	l := (*lane)(nil)
	if c.roof == nil {
		l = c.only()
	} else if asked, err := era.ReadFilter(m.Bytes(m.Params)); err == nil && len(asked.URIs) > 0 {
		if st := c.asKnown(&m.Envelope); st != nil {
			if server, ok := c.resourceOf(st, asked.URIs[0]); ok {
				l = c.lane(server)
			}
		}
	}
	switch {
	case l == nil:
		own := m.clone()
		c.begun(func() { c.listens(&own) })
	case !l.enqueue(m, false):
		l.requeue(m)
	}
}

// listens begins a subscriptions/listen.
func (c *Conn) listens(m *message) {
	defer c.over() // it is never answered, so nobody waits for that
	id := m.Bytes(m.ID)
	refuse := func(code int, err error) {
		c.refuse(id, code, err.Error(), upstream.Trouble{Reason: err.Error()})
		c.dealt(m.mark)
	}
	asked, err := era.ReadFilter(m.Bytes(m.Params))
	if err != nil {
		refuse(wire.CodeInvalidParams, err)
		return
	}
	st, err := c.settled(&m.Envelope)
	if err != nil {
		refuse(wire.CodeInternal, err)
		return
	}
	key, _ := wire.CanonicalID(id)
	l := &listen{id: id, line: m.Line, filter: asked, mark: m.mark}
	l.filter.URIs = nil
	if !c.hear(key, l) {
		refuse(wire.CodeInvalid, errTwice)
		return
	}
	uris := c.subscribe(st, asked.URIs)
	c.mu.Lock()
	if c.listening[key] == l { // else it was cancelled meanwhile
		l.filter.URIs = uris
	}
	ack := l.filter
	c.mu.Unlock()
	c.send(ack.AppendAcknowledged(nil, id))
	if m.replayed {
		c.gap(ack)
	}
}

// hear enters a listen; false when there is one of its id.
func (c *Conn) hear(key string, l *listen) bool {
	c.mu.Lock()
	_, twice := c.listening[key]
	if !twice {
		c.listening[key] = l
		if c.save() != nil {
			l.open = true
			c.keep()
		}
	}
	c.mu.Unlock()
	if !twice && !l.open {
		c.dealt(l.mark)
	}
	return !twice
}

// deaf ends a listen that the host cancels; false when it has none of that id.
func (c *Conn) deaf(key string) bool {
	c.mu.Lock()
	l := c.listening[key]
	if l != nil {
		delete(c.listening, key)
		c.keep()
	}
	c.mu.Unlock()
	if l == nil {
		return false
	}
	if l.open {
		c.dealt(l.mark)
	}
	return true
}

// hearAgain begins the listens that a daemon before had.
func (c *Conn) hearAgain(lines []string) {
	for _, line := range lines {
		env, err := wire.Scan([]byte(line))
		if err == nil {
			c.begin()
			c.begun(func() { c.listens(&message{Envelope: env, replayed: true}) })
		}
	}
}

// gap tells a host to look at everything again: nobody saw what changed.
func (c *Conn) gap(f era.Filter) {
	for _, list := range []struct {
		wanted bool
		family string
	}{{f.Tools, "tools"}, {f.Prompts, "prompts"}, {f.Resources, "resources"}} {
		if list.wanted {
			c.changed(list.family)
		}
	}
}

// overhears tells a host of changed lists that listens and has no place on an
// instance of the server, which would tell it: over HTTP who listens is one
// connection, and who calls another. False: the host is not such a one.
func (c *Conn) overhears(def config.Definition, kinds []string) bool {
	c.mu.Lock()
	alone := len(c.listening) > 0
	for _, p := range c.ports {
		alone = alone && (p.lane.spot == nil || p.lane.spot.verdict.def != def)
	}
	c.mu.Unlock()
	if !alone {
		return false
	}
	st, names := c.guess(), []string{c.o.Hello.Server}
	if c.roof != nil {
		names = c.visible(st)
	}
	for _, name := range names {
		if v := st.judge(name); v.server != nil && v.def == def {
			for _, kind := range kinds {
				c.changed(kind)
			}
		}
	}
	return true
}

// subscribe subscribes to resources at the servers they are of. It returns those
// that have one.
func (c *Conn) subscribe(st *stand, uris []string) (done []string) {
	by := map[string][]string{}
	for _, uri := range uris {
		if server, ok := c.resourceOf(st, uri); ok {
			by[server] = append(by[server], uri)
		}
	}
	for server, own := range by {
		l := c.lane(server)
		s, err := l.resolve(c.life, st)
		if err == nil && s.verdict.server == nil {
			continue
		}
		if err == nil {
			err = l.subscribe(s, own)
		}
		if err != nil {
			l.note(err)
			continue
		}
		done = append(done, own...)
	}
	return done
}

// resourceOf is the server that a resource is of.
func (c *Conn) resourceOf(st *stand, uri string) (server string, ok bool) {
	if c.roof == nil {
		return c.o.Hello.Server, true
	}
	return c.owner(st, c.visible(st), uri)
}

// tellHost passes on what a server, or mcpx, says unasked. A modern host hears of
// lists and resources only what it listens to, marked as belonging to that.
func (c *Conn) tellHost(method string, line []byte) {
	kind := era.Filter{Tools: true, Prompts: true, Resources: true}
	if !c.facts().modern || !kind.Wants(method, "") && method != "notifications/resources/updated" {
		c.send(line)
		return
	}
	env, err := wire.Scan(bytes.TrimRight(line, "\n"))
	if err != nil {
		return
	}
	uri := env.Text(env.URI)
	c.mu.Lock()
	var ids [][]byte
	for _, l := range c.listening {
		if l.filter.Wants(method, uri) {
			ids = append(ids, l.id)
		}
	}
	c.mu.Unlock()
	for _, id := range ids {
		c.send(env.Append(nil, era.StampEdit(&env, id)))
	}
}
