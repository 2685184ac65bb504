package roof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/wire"
)

// The most that all servers' lists hold together (threat T34). Who has more than
// a fair share of it is cut, and nobody else.
const (
	maxItems = 10_000
	maxBytes = 32 << 20
)

// Kind is one of the four things that servers list.
type Kind uint8

// The kinds.
const (
	Tools Kind = iota
	Prompts
	Resources
	Templates
)

var kinds = [...]struct{ method, member, key string }{
	Tools:     {"tools/list", "tools", "name"},
	Prompts:   {"prompts/list", "prompts", "name"},
	Resources: {"resources/list", "resources", "uri"},
	Templates: {"resources/templates/list", "resourceTemplates", "uriTemplate"},
}

// KindOf is what the method lists; ok is false when it lists nothing.
func KindOf(method string) (k Kind, ok bool) {
	for k, kind := range kinds {
		if kind.method == method {
			return Kind(k), true
		}
	}
	return 0, false
}

// Method is the request for the list.
func (k Kind) Method() string { return kinds[k].method }

// Member is where a result holds the items.
func (k Kind) Member() string { return kinds[k].member }

// renamed reports whether hosts see a name that is made of two.
func (k Kind) renamed() bool { return k == Tools || k == Prompts }

// Page is what a server lists, all its pages as one; Result is nil while that is
// not known.
type Page struct {
	Server string
	Result []byte
}

// Left is an item that is not in the list, or several when Item is "".
type Left struct{ Server, Item, Why string }

// Target is whose something is, and what it is called there. Guessed says that
// the server's list is not known, so that it may have none of this name.
type Target struct {
	Server, Item string
	Guessed      bool
}

// List is the lists of several servers as one. Never changed once made.
type List struct {
	Result []byte // {"tools":[…]}
	Left   []Left

	kind    Kind
	targets map[string]Target // by name, URI or template as the host sees it
	order   []string          // its keys, as listed
	unknown []string          // the servers whose list is not known
	servers []string
}

// entry is one item on its way into a List.
type entry struct {
	Target
	name string // as the host sees it
	item []byte
	at   wire.Span // of the name or URI in item
}

// Merge makes one list of several: in the order of the servers' names, each in
// its own order, so that the same lists give the same bytes (rule R25). Items
// keep their bytes but for the name. A name or URI that is there already is left
// out: of one URI the first server wins.
func Merge(k Kind, pages []Page) *List {
	pages = slices.Clone(pages)
	slices.SortStableFunc(pages, func(a, b Page) int { return cmp.Compare(a.Server, b.Server) })
	l := &List{kind: k, targets: map[string]Target{}}
	entries := make([][]entry, len(pages))
	var counts, sizes []int
	for i, p := range pages {
		l.servers = append(l.servers, p.Server)
		if p.Result == nil {
			l.unknown = append(l.unknown, p.Server)
		}
		entries[i] = l.read(p)
		size := 0
		for _, e := range entries[i] {
			size += len(e.item) + 2*MaxName
		}
		counts, sizes = append(counts, len(entries[i])), append(sizes, size)
	}
	counts, sizes = shares(counts, maxItems), shares(sizes, maxBytes)
	for i := range entries {
		entries[i] = l.cut(entries[i], counts[i], sizes[i])
	}
	l.settle(slices.Concat(entries...))
	return l
}

// read finds the items of one server.
func (l *List) read(p Page) []entry {
	kind := kinds[l.kind]
	at, _ := wire.Member(p.Result, kind.member)
	list := p.Result[at.Start:at.End]
	var entries []entry
	nameless := 0
	for el := range wire.Elements(list) {
		item := list[el.Start:el.End]
		at, plain := member(item, kind.key)
		id, ok := wire.CanonicalID(item[at.Start:at.End])
		name, isText := strings.CutPrefix(id, `"`) // a string that all decoders read alike
		if !plain || !ok || !isText || name == "" {
			nameless++
			continue
		}
		e := entry{Target: Target{Server: p.Server, Item: name}, name: name, item: item, at: at}
		if l.kind.renamed() {
			e.name = Name(p.Server, name)
		}
		entries = append(entries, e)
	}
	if nameless > 0 {
		l.leave(p.Server, "", fmt.Sprintf("%d without a %s that can be read", nameless, kind.key))
	}
	return entries
}

// member finds the value of key, an empty Span when there is none. plain is false
// when a decoder could take another member for it: a server could give its tool
// the name of another's (threat T7).
func member(object []byte, key string) (at wire.Span, plain bool) {
	for name, value := range wire.Members(object) {
		raw := object[name.Start:name.End]
		text, _ := wire.Text(raw)
		_, sure := wire.CanonicalID(raw)
		if !sure { // as it may be read by who drops half a surrogate pair, or ends at NUL
			text, _, _ = strings.Cut(strings.ReplaceAll(text, "\uFFFD", ""), "\x00")
		}
		switch {
		case !strings.EqualFold(text, key):
		case !sure, text != key, !at.Empty():
			return wire.Span{}, false
		default:
			at = value
		}
	}
	return at, true
}

func (l *List) leave(server, item, why string) {
	l.Left = append(l.Left, Left{server, item, why})
}

// cut keeps the first of a server's items, as many as are its share.
func (l *List) cut(entries []entry, count, size int) []entry {
	for i, e := range entries {
		if size -= len(e.item) + 2*MaxName; i == count || size < 0 {
			l.leave(e.Server, "", fmt.Sprintf("%d over the limit of %d items and %d MiB in all", len(entries)-i, maxItems, maxBytes>>20))
			return entries[:i]
		}
	}
	return entries
}

// settle fills the tables and writes the list.
func (l *List) settle(entries []entry) {
	clash := map[string]bool{}
	for _, e := range entries {
		first, taken := l.targets[e.name]
		switch {
		case !taken:
			l.targets[e.name] = e.Target
			l.order = append(l.order, e.name)
		case first == e.Target:
			l.leave(e.Server, e.Item, "listed twice")
		case l.kind.renamed(): // two hashes are the same: neither may be taken for the other
			clash[e.name] = true
			l.leave(first.Server, first.Item, "has the name "+e.name+", as another has")
			l.leave(e.Server, e.Item, "has the name "+e.name+", as another has")
		default:
			l.leave(e.Server, e.Item, "server "+first.Server+" has it")
		}
	}
	for name := range clash {
		delete(l.targets, name)
	}
	l.order = slices.DeleteFunc(l.order, func(name string) bool { return clash[name] })
	l.write(entries)
}

func (l *List) write(entries []entry) {
	l.Result = append(wire.AppendString([]byte{'{'}, kinds[l.kind].member), ":["...)
	written := map[string]bool{}
	for _, e := range entries {
		if l.targets[e.name] != e.Target || written[e.name] {
			continue
		}
		if len(written) > 0 {
			l.Result = append(l.Result, ',')
		}
		written[e.name] = true
		if !l.kind.renamed() {
			l.Result = append(l.Result, e.item...)
			continue
		}
		l.Result = append(l.Result, e.item[:e.at.Start]...)
		l.Result = wire.AppendString(l.Result, e.name)
		l.Result = append(l.Result, e.item[e.at.End:]...)
	}
	l.Result = append(l.Result, "]}"...)
}

// shares divides limit among those who want some of it: who wants little gets
// all he wants, the others as much as each other.
func shares(wanted []int, limit int) []int {
	order := make([]int, len(wanted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wanted[a], wanted[b]) })
	given := make([]int, len(wanted))
	for n, i := range order {
		given[i] = min(wanted[i], limit/(len(order)-n))
		limit -= given[i]
	}
	return given
}

// Find is whose tool or prompt the host means by name. It is looked up and never
// taken apart. While a server's list is not known, a name counts that only this
// server's can be.
func (l *List) Find(name string) (Target, bool) {
	if t, ok := l.targets[name]; ok {
		return t, true
	}
	if !l.kind.renamed() {
		return Target{}, false
	}
	for _, server := range l.unknown {
		if item, ok := strings.CutPrefix(name, server+separator); ok && Name(server, item) == name {
			return Target{Server: server, Item: item, Guessed: true}, true
		}
	}
	return Target{}, false
}

// Unknown are the servers whose list is not known: a name that Find does not know
// may still be theirs, in its short form.
func (l *List) Unknown() []string { return l.unknown }
