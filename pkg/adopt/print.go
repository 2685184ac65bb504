package adopt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// JSONC is the plan as a config file: each server under what a person should
// know about it.
func (p Plan) JSONC() []byte {
	var b bytes.Buffer
	b.WriteString("// Made by mcpx import. Look it over, and save it as ~/.config/mcpx/config.json.\n{\n  \"mcpServers\": {\n")
	for i, s := range p.Servers {
		if i > 0 {
			b.WriteString("\n")
		}
		for _, line := range s.comment() {
			fmt.Fprintf(&b, "    // %s\n", printable(line))
		}
		fmt.Fprintf(&b, "    %q: %s,\n", s.Name, s.entry())
	}
	b.WriteString("  },\n}\n")
	return b.Bytes()
}

// comment is where the server comes from, why it has its scope, and all notes.
func (s Server) comment() []string {
	lines := []string{"from " + s.origin(), fmt.Sprintf("scope %s: %s", s.Scope, s.Reason)}
	return append(lines, s.Notes...)
}

func (s Server) origin() string {
	var from []string
	for _, f := range s.From {
		from = append(from, f.Host.Title+" ("+f.File+")")
	}
	return strings.Join(from, ", ")
}

// entry is indented JSON that fits its place in the file.
func (s Server) entry() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("    ", "  ")
	if err := e.Encode(s.Raw); err != nil {
		panic("adopt: an entry of strings does not marshal: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

// printable keeps a comment on its line, whatever a file's name holds (threat
// T27).
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
