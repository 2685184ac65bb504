package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/registry"
	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// listWait bounds how long one server's list holds up those of the others (rule
// R17). What comes later is told by list_changed.
const listWait = 5 * time.Second

// rooftop is what a connection to all visible servers keeps beside its lanes.
type rooftop struct {
	mu    sync.Mutex               // guards what follows
	lists map[roof.Kind]*roof.List // as the host was last given them
	known map[roof.Kind]*known     // as far as they are kept
	shown map[string]string        // by family: which servers the list was made of that the host was last given
}

// known is the list of all servers as far as it is kept, and what it is made of.
type known struct {
	of   []*registry.Catalogue
	as   []offer
	list *roof.List
}

// visible are the servers of a session that stands in st, in order of their
// names.
func (c *Conn) visible(st *stand) []string {
	return st.those(func(v verdict) bool { return v.server != nil })
}

// those are the servers of which a verdict says something.
func (st *stand) those(fits func(verdict) bool) (names []string) {
	for _, name := range st.view.Names {
		if fits(st.judge(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// welcome is the result of initialize for a host that sees all servers as one.
// It starts none: a server that never ran is promised to have everything.
func (c *Conn) welcome() []byte {
	st, protocol := c.guess(), c.facts().protocol
	hellos := []roof.Hello{{Result: superset("mcpx", c.o.Version, protocol)}} // others may come
	for _, name := range c.visible(st) {
		if cat, kept := c.o.Servers.Catalogue(st.judge(name).server); kept {
			hellos = append(hellos, roof.Hello{Server: name, Result: cat.Handshake})
		}
	}
	return roof.Initialize(hellos, "mcpx", c.o.Version, protocol)
}

// underRoof sends a request to the server it is for.
func (c *Conn) underRoof(m *message, name string) {
	if k, ok := roof.KindOf(name); ok {
		own := m.clone()
		c.begun(func() { c.gather(k, &own) })
		return
	}
	if name == "logging/setLevel" {
		c.setLevel(m)
		return
	}
	if c.ready() && c.unmet() == nil {
		if st := c.asKnown(&m.Envelope); st != nil && c.aim(st, c.visible(st), m, name) {
			c.lane(m.server).forward(m)
			return
		}
	}
	own := m.clone() // it may be that the host has not said where it is
	c.begun(func() { c.seek(&own, name) })
}

// begun runs f in a goroutine of the connection's.
func (c *Conn) begun(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start(f)
}

// settled waits until the handshake is over, and returns where the session
// stands then.
func (c *Conn) settled(env *wire.Envelope) (*stand, error) {
	if met := c.unmet(); met != nil {
		<-met // it bounds itself, and ends with the connection
	}
	c.awaitInitialized(c.life)
	return c.where(c.life, env)
}

// seek finds the server of a request that could not be told at once. Until it
// has, the host may cancel.
func (c *Conn) seek(m *message, name string) {
	it := &item{message: *m}
	it.id, _ = wire.CanonicalID(m.Bytes(m.ID))
	it.ctx, it.cancel = context.WithCancel(c.life)
	defer it.cancel()
	c.mu.Lock()
	_, twice := c.waiting[it.id]
	if !twice {
		c.waiting[it.id] = it
	}
	c.mu.Unlock()
	if twice {
		c.send(wire.AppendError(nil, m.Bytes(m.ID), wire.CodeInvalid, errTwice.Error(), nil))
		c.done(m.mark)
		return
	}
	st, err := c.settled(&m.Envelope)
	c.mu.Lock()
	delete(c.waiting, it.id)
	c.mu.Unlock()
	switch {
	case it.ctx.Err() != nil:
		c.forgotten(it.id)
	case err != nil:
		c.refuse(m.Bytes(m.ID), wire.CodeInternal, err.Error(), upstream.Trouble{Reason: err.Error()})
	case c.aim(st, c.visible(st), m, name):
		c.lane(m.server).forward(m)
		return
	case c.conceals(st, m, name): // before anybody is asked again, which could start a server
		_, msg, _ := nobody(&m.Envelope, name)
		c.refuse(m.Bytes(m.ID), wire.CodeInvalidParams, msg, st.judge(m.server).trouble(m.server))
	case c.refreshed(st, name) && c.aim(st, c.visible(st), m, name):
		c.lane(m.server).forward(m)
		return
	default:
		code, msg, hint := nobody(&m.Envelope, name)
		c.refuse(m.Bytes(m.ID), code, msg, upstream.Trouble{Reason: msg, Hint: hint})
	}
	c.done(m.mark)
}

// refreshed asks the servers again for what a request names: they may have told
// the host of something that is not in the lists yet.
func (c *Conn) refreshed(st *stand, name string) bool {
	var stale []roof.Kind
	switch name {
	case "tools/call":
		stale = []roof.Kind{roof.Tools}
	case "prompts/get":
		stale = []roof.Kind{roof.Prompts}
	case "resources/read", "resources/subscribe":
		stale = []roof.Kind{roof.Resources, roof.Templates}
	}
	for _, k := range stale {
		c.fresh(st, c.visible(st), k)
	}
	return len(stale) > 0
}

// fresh is the list of all servers as they have it now, with errors as pages has them.
func (c *Conn) fresh(st *stand, servers []string, k roof.Kind) (list *roof.List, errs []error) {
	pages, errs := c.pages(st, servers, k)
	list = roof.Merge(k, pages)
	c.roof.mu.Lock()
	defer c.roof.mu.Unlock()
	c.roof.lists[k] = list
	return list, errs
}

// nobody is the answer to a request that is no visible server's.
func nobody(env *wire.Envelope, name string) (code int, msg, hint string) {
	hint = "list again: servers come and go"
	switch name {
	case "tools/call":
		return wire.CodeInvalidParams, fmt.Sprintf("unknown tool %q", env.Text(env.Name)), hint
	case "prompts/get":
		return wire.CodeInvalidParams, fmt.Sprintf("unknown prompt %q", env.Text(env.Name)), hint
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return wire.CodeInvalidParams, fmt.Sprintf("unknown resource %q", env.Text(env.URI)), hint
	case "completion/complete":
		return wire.CodeInvalidParams, "unknown prompt or resource", hint
	}
	if strings.HasPrefix(name, "tasks/") {
		return wire.CodeInvalidParams, fmt.Sprintf("unknown task %q", env.Text(env.TaskID)), ""
	}
	return wire.CodeMethodNotFound, "Method not found", "many servers are under one roof here: which one is meant is not told"
}

// aim writes into m which of the servers it is for, and that server's own names;
// false when it is for none.
func (c *Conn) aim(st *stand, servers []string, m *message, name string) bool {
	edit := func(at wire.Span, t roof.Target) {
		m.server, m.item = t.Server, t.Item
		m.edits = append(m.edits[:0], wire.Edit{At: at, With: wire.AppendString(nil, t.Item)})
	}
	find := func(k roof.Kind, at wire.Span) bool {
		t, ok := c.find(st, servers, k, m.Text(at))
		if ok {
			edit(at, t)
		}
		return ok
	}
	switch name {
	case "tools/call":
		return find(roof.Tools, m.Name)
	case "prompts/get":
		return find(roof.Prompts, m.Name)
	case "completion/complete":
		if !m.RefName.Empty() {
			return find(roof.Prompts, m.RefName)
		}
		t, ok := roof.TemplateOwner(m.Text(m.RefURI), c.table(st, servers, roof.Resources), c.table(st, servers, roof.Templates))
		m.server = t.Server
		return ok && slices.Contains(servers, t.Server)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		server, ok := c.owner(st, servers, m.Text(m.URI))
		m.server = server
		return ok
	}
	edits, server, ok := roof.OpenTasks(nil, &m.Envelope, servers)
	switch {
	case ok && server != "":
		m.server, m.edits = server, edits
		return true
	case !ok || strings.HasPrefix(name, "tasks/") || len(servers) != 1:
		return false
	}
	m.server = servers[0] // what mcpx does not know, of the only one there is
	return true
}

// owner is whose a resource is.
func (c *Conn) owner(st *stand, servers []string, uri string) (server string, ok bool) {
	c.roof.mu.Lock()
	resources, templates := c.roof.lists[roof.Resources], c.roof.lists[roof.Templates]
	c.roof.mu.Unlock()
	if resources != nil && templates != nil {
		if t, ok := roof.Owner(uri, resources, templates); ok && !t.Guessed && slices.Contains(servers, t.Server) {
			return t.Server, true
		}
	}
	t, ok := roof.Owner(uri, c.table(st, servers, roof.Resources), c.table(st, servers, roof.Templates))
	return t.Server, ok && slices.Contains(servers, t.Server)
}

// find is whose a name is: by the list that the host was given, else by what is
// known by now.
func (c *Conn) find(st *stand, servers []string, k roof.Kind, name string) (roof.Target, bool) {
	c.roof.mu.Lock()
	given := c.roof.lists[k]
	c.roof.mu.Unlock()
	if given != nil {
		if t, ok := given.Find(name); ok && !t.Guessed && slices.Contains(servers, t.Server) {
			return t, true
		}
	}
	return c.table(st, servers, k).Find(name)
}

// table is the list of all servers as far as it is kept.
func (c *Conn) table(st *stand, servers []string, k roof.Kind) *roof.List {
	now := &known{}
	for _, name := range servers {
		v := st.judge(name)
		cat, _ := c.o.Servers.Catalogue(st.view.Servers[name])
		now.of, now.as = append(now.of, cat), append(now.as, v.offer("tools"))
	}
	c.roof.mu.Lock()
	defer c.roof.mu.Unlock()
	if old := c.roof.known[k]; old != nil && slices.Equal(old.of, now.of) && slices.Equal(old.as, now.as) {
		return old.list
	}
	pages := make([]roof.Page, len(servers))
	for i, name := range servers {
		pages[i].Server = name
		if now.of[i] != nil {
			pages[i].Result = listOf(now.of[i], k, st.view.Servers[name])
		}
	}
	now.list = roof.Merge(k, pages)
	c.roof.known[k] = now
	return now.list
}

// gather answers a list with those of all visible servers, asked side by side.
func (c *Conn) gather(k roof.Kind, m *message) {
	defer c.done(m.mark)
	id := m.Bytes(m.ID)
	if !m.Cursor.Empty() { // a list under one roof has one page
		c.refuse(id, wire.CodeInvalidParams, "unknown cursor", upstream.Trouble{Reason: "unknown cursor"})
		return
	}
	st, err := c.settled(&m.Envelope)
	if err != nil {
		c.refuse(id, wire.CodeInternal, err.Error(), upstream.Trouble{Reason: err.Error()})
		return
	}
	servers := c.visible(st)
	list, errs := c.fresh(st, servers, k)
	failed := map[string]string{}
	for i, err := range errs {
		if err != nil {
			failed[servers[i]] = err.Error()
		}
	}
	c.roof.mu.Lock()
	c.roof.shown[lists[k.Method()].family] = fingerprint(st, servers)
	c.roof.mu.Unlock()
	if len(failed) > 0 && len(failed) == len(servers) {
		err := errors.Join(errs...)
		c.refuse(id, wire.CodeInternal, err.Error(), upstream.Trouble{Reason: err.Error(), Hint: "mcpx status says what is wrong with each server"})
		return
	}
	c.reply(wire.AppendResult(nil, id, c.complete(k.Method(), list.Answer(failed))))
}

// pages asks each server for its list. Who does not answer in time, or at all,
// is left out, with an error at its place; when it is there later, the host is told.
func (c *Conn) pages(st *stand, servers []string, k roof.Kind) (pages []roof.Page, errs []error) {
	pages, errs = make([]roof.Page, len(servers)), make([]error, len(servers))
	ctx, cancel := context.WithTimeoutCause(c.life, listWait, fmt.Errorf("no answer within %v", listWait))
	defer cancel()
	var all sync.WaitGroup
	for i, name := range servers {
		pages[i].Server = name
		all.Go(func() {
			l := c.lane(name)
			s, err := l.resolve(ctx, st)
			if err == nil {
				pages[i].Result, err = l.whole(ctx, s, k)
			}
			if err != nil && ctx.Err() != nil {
				err = fmt.Errorf("server %q: %w", name, context.Cause(ctx))
			}
			if errs[i] = err; err != nil {
				l.note(err)
			}
		})
	}
	all.Wait()
	return pages, errs
}

// fingerprint is what decides how a list under one roof looks, but for what the
// servers themselves say.
func fingerprint(st *stand, servers []string) string {
	var b strings.Builder
	for _, name := range servers {
		v := st.judge(name)
		fmt.Fprintf(&b, "%q %q\n", name, fmt.Sprint(v.offer("tools")))
	}
	return b.String()
}

// review looks again where the session stands and tells the host of lists that
// other servers make up now.
func (c *Conn) review() {
	st, err := c.settled(nil)
	if err != nil {
		return // the next request tells
	}
	var stale []string
	for _, l := range c.used() {
		if s, err := l.place(c.life, st); err == nil {
			stale = append(stale, l.settle(s)...)
		}
	}
	now := fingerprint(st, c.visible(st))
	c.roof.mu.Lock()
	for family, then := range c.roof.shown {
		if then != now {
			stale = append(stale, family)
			delete(c.roof.shown, family)
		}
	}
	c.roof.mu.Unlock()
	slices.Sort(stale)
	for _, family := range slices.Compact(stale) {
		c.changed(family)
	}
}
