package session

import (
	"encoding/json"
	"slices"

	"github.com/dezren39/mcpx/pkg/config"
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

// keptList answers a list from what is kept, if no instance has to be asked:
// listing starts nothing (design D14).
func (c *Conn) keptList(env *wire.Envelope) bool {
	m := string(method(env))
	s := c.guess()
	server := s.verdict.server
	if server == nil {
		if !s.verdict.known {
			return false // its turn will tell that no file names the server
		}
		c.serve(m, env, emptyList([]byte(m)))
		return true
	}
	if c.running(s) {
		return false
	}
	cat, kept := c.o.Servers.Catalogue(server)
	if !kept || env.Cursor != (wire.Span{}) {
		return false
	}
	if list := cat.Lists[m]; list != nil {
		c.serve(m, env, onlyAllowed(m, list, server))
		return true
	}
	if !offered(cat.Handshake).has(lists[m].family) {
		c.serve(m, env, emptyList([]byte(m)))
		return true
	}
	return false
}

func (c *Conn) running(s *spot) bool {
	lease, up := c.o.Servers.Running(s.verdict.server, s.rs.Key)
	if up {
		lease.Release()
	}
	return up
}

// serve answers a list without the server and remembers that the host may have
// to be told when it turns out to differ.
func (c *Conn) serve(method string, env *wire.Envelope, result []byte) {
	c.mu.Lock()
	c.served[lists[method].family] = true
	c.mu.Unlock()
	c.reply(wire.AppendResult(nil, env.Bytes(env.ID), result))
}

// lacks reports whether env asks for a list of a family that the instance does
// not have: the superset promised it, so it is empty rather than an error.
func (c *Conn) lacks(env *wire.Envelope, p *port) bool {
	l, ok := lists[string(method(env))]
	return ok && !p.lists.has(l.family)
}

func emptyList(method []byte) []byte {
	return []byte(`{"` + lists[string(method)].member + `":[]}`)
}

// ListsChanged tells the host that lists it was served without the server are
// out of date. kinds are families.
func (c *Conn) ListsChanged(def config.Definition, kinds []string) {
	c.mu.Lock()
	mine := c.spot != nil && c.spot.verdict.def == def
	var stale []string
	for _, k := range kinds {
		if mine && c.served[k] {
			stale = append(stale, k)
			delete(c.served, k)
		}
	}
	c.mu.Unlock()
	c.announce(stale...)
}

// announce sends list_changed.
func (c *Conn) announce(kinds ...string) {
	for _, k := range kinds {
		c.send(wire.AppendNotification(nil, "notifications/"+k+"/list_changed", nil))
	}
}

// filter takes the tools out of a server's own list that this session's config
// leaves out. ok is false when the line stays as it is.
func (c *Conn) filter(method string, line []byte) (filtered []byte, ok bool) {
	if method != "tools/list" {
		return nil, false
	}
	c.mu.Lock()
	s := c.spot
	c.mu.Unlock()
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

func filters(s *config.Resolved) bool {
	return s != nil && (len(s.Tools) > 0 || len(s.ExcludeTools) > 0)
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
	var kept [][]byte
	all := result[at.Start:at.End]
	for el := range wire.Elements(all) {
		if tool := all[el.Start:el.End]; s.AllowsTool(toolName(tool)) {
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
	return slices.Concat([]byte("["), joined(elements), []byte("]"))
}
