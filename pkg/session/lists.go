package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/wire"
)

// lists are the methods that a kept catalogue can answer, and the member of the
// result that holds the items. Two belong to one family.
var lists = map[string]struct{ family, member string }{
	"tools/list":               {"tools", "tools"},
	"prompts/list":             {"prompts", "prompts"},
	"resources/list":           {"resources", "resources"},
	"resources/templates/list": {"resources", "resourceTemplates"},
}

// listing is a list that the host was given: made from what, and by whom.
type listing struct {
	offer offer
	on    *mux.Mux // nil: it was kept, no server was asked
}

// offer is what decides how a list looks, but for the server itself. The zero
// offer is the empty list of a server that is not for this session.
type offer struct {
	def    config.Definition
	filter string
}

func (v verdict) offer(family string) offer {
	if v.server == nil {
		return offer{}
	}
	o := offer{def: v.def}
	if family == "tools" && filters(v.server) {
		o.filter = fmt.Sprintf("%#v %#v", v.server.Tools, v.server.ExcludeTools) // no tools is not the same as none said
	}
	return o
}

// listed remembers what the host was given.
func (l *lane) listed(family string, given listing) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.shown[family] = given
}

// isList reports whether a request is for one of the lists.
func isList(env *wire.Envelope) bool {
	_, ok := lists[string(method(env))]
	return ok
}

// keptList answers a list from what is kept, if no instance has to be asked:
// listing starts nothing (design D14).
func (l *lane) keptList(env *wire.Envelope) bool {
	m, s := string(method(env)), l.guess()
	result := l.keptResult(m, env, s)
	if result == nil {
		return false
	}
	l.serve(m, env, s, result)
	return true
}

// keptResult is what is known of a list without its server; nil when that has to be
// asked, or the request's turn has to tell that no file names it.
func (l *lane) keptResult(method string, env *wire.Envelope, s *spot) []byte {
	server, list := s.verdict.server, lists[method]
	switch {
	case server == nil && s.verdict.known():
		return emptyList(list.member)
	case server == nil || l.running(s):
		return nil
	}
	cat, kept := l.c.o.Servers.Catalogue(server)
	switch {
	case !kept || !env.Cursor.Empty():
		return nil
	case cat.Lists[method] != nil:
		return onlyAllowed(method, cat.Lists[method], server)
	case !offered(cat.Handshake).has(list.family):
		return emptyList(list.member)
	}
	return nil
}

func (l *lane) running(s *spot) bool {
	c := l.c
	lease, up := c.o.Servers.Running(s.verdict.server, s.rs.Key, c.who.Session)
	if up {
		lease.Release()
	}
	return up
}

// serve answers a list without the server and remembers that the host may have
// to be told when it turns out to differ.
func (l *lane) serve(method string, env *wire.Envelope, s *spot, result []byte) {
	family := lists[method].family
	l.listed(family, listing{offer: s.verdict.offer(family)})
	l.c.reply(wire.AppendResult(nil, env.Bytes(env.ID), l.c.complete(method, result)))
}

func emptyList(member string) []byte { return []byte(`{"` + member + `":[]}`) }

// ListsChanged tells the host that lists it was given are out of date: those of
// a kept catalogue, and those of an instance that has ended since. One that is
// still there has told by itself. kinds are families.
func (c *Conn) ListsChanged(def config.Definition, kinds []string) {
	if c.overhears(def, kinds) {
		return
	}
	for _, l := range c.used() {
		l.announce(func(family string, given listing) bool {
			return slices.Contains(kinds, family) && given.offer.def == def && (given.on == nil || ended(given.on))
		})
	}
}

func ended(m *mux.Mux) bool {
	select {
	case <-m.Done():
		return true
	default:
		return false
	}
}

// announce sends list_changed for the lists that the host was given and that
// are stale.
func (l *lane) announce(stale func(family string, given listing) bool) {
	for _, family := range l.outdated(stale) {
		l.c.changed(family)
	}
}

// outdated are the families of those lists, once for each time it was given one.
func (l *lane) outdated(stale func(family string, given listing) bool) (families []string) {
	c := l.c
	c.mu.Lock()
	for family, given := range l.shown {
		if stale(family, given) {
			families = append(families, family)
			delete(l.shown, family)
		}
	}
	c.mu.Unlock()
	slices.Sort(families)
	return families
}

// changed tells the host that a list is out of date.
func (c *Conn) changed(family string) {
	method := "notifications/" + family + "/list_changed"
	c.tellHost(method, wire.AppendNotification(nil, method, nil))
}

// filter takes the tools out of a server's own list that this session's config
// leaves out. ok is false when the line stays as it is.
func (l *lane) filter(method string, line []byte) (filtered []byte, ok bool) {
	if method != "tools/list" {
		return nil, false
	}
	l.c.mu.Lock()
	s := l.spot
	l.c.mu.Unlock()
	if s == nil || !filters(s.verdict.server) {
		return nil, false
	}
	env, err := wire.Scan(line[:len(line)-1])
	if err != nil || env.Kind != wire.Result {
		return nil, false
	}
	result := onlyAllowed(method, env.Bytes(env.Result), s.verdict.server)
	return env.Append(nil, wire.Edit{At: env.Result, With: result}), true
}

// filters reports whether s offers less than all of its tools. An empty "tools"
// offers none.
func filters(s *config.Resolved) bool {
	return s != nil && (s.Tools != nil || len(s.ExcludeTools) > 0)
}

// onlyAllowed drops the tools that "tools" and "excludeTools" leave out. What
// stays is byte for byte the server's. Pure.
func onlyAllowed(method string, result []byte, s *config.Resolved) []byte {
	if method != "tools/list" || !filters(s) {
		return result
	}
	at, ok := wire.Member(result, "tools")
	if !ok {
		return result
	}
	filter := s.ToolFilter()
	var kept [][]byte
	all := result[at.Start:at.End]
	for el := range wire.Elements(all) {
		if tool := all[el.Start:el.End]; filter.Allows(toolName(tool)) {
			kept = append(kept, tool)
		}
	}
	return wire.ReplaceMember(result, "tools", array(kept))
}

func toolName(tool []byte) string {
	at, ok := wire.Member(tool, "name")
	if !ok {
		return ""
	}
	var name string
	_ = json.Unmarshal(tool[at.Start:at.End], &name) // not a string: no pattern means it
	return name
}

func array(elements [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
}
