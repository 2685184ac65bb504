package roof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dezren39/mcpx/pkg/wire"
)

// The most that is taken of what a server says of itself.
const (
	maxCapabilities = 16 << 10
	maxInstructions = 32 << 10
)

// Hello is a server's initialize result, raw.
type Hello struct {
	Server string
	Result []byte
}

// Initialize is the initialize result of all servers as one, for a host that is
// answered in protocol; name and version are mcpx's.
func Initialize(hellos []Hello, name, version, protocol string) []byte {
	out := wire.AppendString([]byte(`{"protocolVersion":`), protocol)
	out = append(append(out, `,"capabilities":`...), Capabilities(hellos)...)
	out = wire.AppendString(append(out, `,"serverInfo":{"name":`...), name)
	out = append(wire.AppendString(append(out, `,"version":`...), version), '}')
	if text := Instructions(hellos); text != "" {
		out = wire.AppendString(append(out, `,"instructions":`...), text)
	}
	return append(out, '}')
}

func inOrder(hellos []Hello) []Hello {
	hellos = slices.Clone(hellos)
	slices.SortStableFunc(hellos, func(a, b Hello) int { return cmp.Compare(a.Server, b.Server) })
	return hellos
}

// Instructions are those of all servers, each under its name and set in, so that
// no server's text can be taken for another's.
func Instructions(hellos []Hello) string {
	var b strings.Builder
	for _, h := range inOrder(hellos) {
		at, _ := wire.Member(h.Result, "instructions")
		text, _ := wire.Text(h.Result[at.Start:at.End])
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if len(text) > maxInstructions {
			n := maxInstructions
			for !utf8.RuneStart(text[n]) {
				n--
			}
			text = text[:n] + "\n(cut: the server says more)"
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Server %s", h.Server)
		if isPlain(h.Server) {
			fmt.Fprintf(&b, " (its names begin with %s%s)", h.Server, separator)
		}
		b.WriteString(":\n")
		for line := range strings.SplitSeq(strings.Map(lineEnd, strings.ReplaceAll(text, "\r\n", "\n")), "\n") {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
	}
	return b.String()
}

// lineEnd makes one of all that anything that shows text may begin a line after.
func lineEnd(r rune) rune {
	switch r {
	case '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return '\n'
	}
	return r
}

// Capabilities are those of all servers as one: what any has, all together have.
// Lists change whenever a server comes or goes. Members that mcpx does not know
// are kept from the first server that has them: what they promise is mostly said
// of items (as the extension for user interfaces does), which find their server by
// name or URI. A server that says more than is sane is left out.
func Capabilities(hellos []Hello) []byte {
	all := []byte("{}")
	for _, h := range inOrder(hellos) {
		at, _ := wire.Member(h.Result, "capabilities")
		if raw := h.Result[at.Start:at.End]; len(raw) <= maxCapabilities {
			all = union(all, raw)
		}
	}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if at, ok := wire.Member(all, kind); ok && all[at.Start] == '{' {
			all = wire.ReplaceMember(all, kind, wire.ReplaceMember(all[at.Start:at.End], "listChanged", []byte("true")))
		}
	}
	return all
}

// union is the object a with what only b has, or what only b says yes to.
func union(a, b []byte) []byte {
	for name, value := range wire.Members(b) {
		key, _ := wire.Text(b[name.Start:name.End])
		theirs := b[value.Start:value.End]
		at, ok := wire.Member(a, key)
		switch ours := a[at.Start:at.End]; {
		case !ok:
			a = wire.ReplaceMember(a, key, theirs)
		case ours[0] == '{' && theirs[0] == '{':
			a = wire.ReplaceMember(a, key, union(ours, theirs))
		case ours[0] == 'n', ours[0] == 'f' && theirs[0] != 'n':
			a = wire.ReplaceMember(a, key, theirs)
		}
	}
	return a
}
