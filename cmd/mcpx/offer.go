package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/wire"
)

// listed is a list as it came.
type listed struct {
	kind   roof.Kind
	result []byte
}

// offer is one item of a list, as far as it is shown.
type offer struct {
	name, server, title, about string
	takes                      []byte // raw: a tool's schema, a prompt's arguments
}

// items are the raw items of the list.
func (l listed) items() [][]byte {
	at, _ := wire.Member(l.result, l.kind.Member())
	list := l.result[at.Start:at.End]
	var items [][]byte
	for el := range wire.Elements(list) {
		items = append(items, list[el.Start:el.End])
	}
	return items
}

func (l listed) offers() []offer {
	items := l.items()
	offers := make([]offer, len(items))
	for i, raw := range items {
		offers[i] = offerOf(raw)
	}
	at := 0
	for _, part := range roof.PartsOf(l.result) {
		for range part.Items {
			if at < len(offers) {
				offers[at].server = part.Server
				at++
			}
		}
	}
	return offers
}

// offerOf reads what it can: a member that is not as it must be costs only itself.
func offerOf(raw []byte) offer {
	text := func(key string) string {
		at, _ := wire.Member(raw, key)
		s, _ := wire.Text(raw[at.Start:at.End])
		return s
	}
	o := offer{name: cmp.Or(text("uriTemplate"), text("uri"), text("name")), title: text("title"), about: text("description")}
	if o.title == "" && o.name != text("name") {
		o.title = text("name") // of a resource
	}
	for _, key := range []string{"inputSchema", "arguments"} {
		if at, ok := wire.Member(raw, key); ok {
			o.takes = raw[at.Start:at.End]
		}
	}
	return o
}

// matches reports whether all words are in it, in any case.
func (o offer) matches(words []string) bool {
	text := strings.ToLower(strings.Join([]string{o.name, o.title, o.about}, "\n"))
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// summary is the first line of what it says of itself.
func (o offer) summary() string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(o.about, o.title)), "\n")
	return strings.TrimSpace(line)
}

// offerTable is a row an offer, with its server where there are many.
func offerTable(k roof.Kind, offers []offer, many bool) table {
	t := table{flex: -1}
	add := func(name, server, about string, cells func(...string) []cell) {
		if many {
			t.add(cells(name, server, about)...)
		} else {
			t.add(cells(name, about)...)
		}
	}
	name := "NAME"
	if k == roof.Resources {
		name = "URI"
	}
	add(name, "SERVER", "DESCRIPTION", heading)
	for _, o := range offers {
		add(o.name, o.server, o.summary(), row)
	}
	return t
}

// details are what a line has no room for.
func (p printer) details(o offer) error {
	if about := strings.TrimSpace(o.about); strings.Contains(about, "\n") {
		if err := p.text("\n" + about); err != nil {
			return err
		}
	}
	var takes bytes.Buffer
	if len(o.takes) == 0 || json.Indent(&takes, o.takes, "", "  ") != nil {
		return nil
	}
	return p.rawJSON(append([]byte("\n"), takes.Bytes()...))
}

// joined are the lists as one object: the first, and the items of the others.
func joined(lists []listed, search []string) []byte {
	out := lists[0].result
	if len(search) > 0 && roof.PartsOf(out) != nil {
		out = wire.DeleteMember(out, "_meta") // it counts what is no longer there
	}
	for i, l := range lists {
		if i == 0 && len(search) == 0 {
			continue
		}
		var kept [][]byte
		for _, raw := range l.items() {
			if offerOf(raw).matches(search) {
				kept = append(kept, raw)
			}
		}
		out = wire.ReplaceMember(out, l.kind.Member(), append(append([]byte{'['}, bytes.Join(kept, []byte{','})...), ']'))
	}
	return out
}
