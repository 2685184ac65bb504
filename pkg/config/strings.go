package config

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Text is one string of a file and where it stands.
type Text struct {
	Server string // whose entry it is in; "" outside mcpServers
	Field  string // as in Problem.Field: "args[1]", "mcpx.secrets.KEY.file"
	Value  string
	At     Origin
}

// Strings are all string values of a file as they are written: those of entries
// with errors, of keys set twice and of other hosts' keys, too. A file that does
// not parse has none.
func Strings(path string, data []byte) []Text {
	t := newText(path, data)
	root, p := t.tree()
	if p != nil {
		return nil
	}
	w := walker{text: t}
	w.walk(root, "")
	return w.found
}

// walker gathers the strings below a value.
type walker struct {
	text   *text
	server string
	found  []Text
}

func (w *walker) walk(v hujson.Value, field string) {
	switch x := v.Value.(type) {
	case *hujson.Object:
		for _, m := range x.Members {
			if w.server == "" && field == "mcpServers" {
				inner := walker{text: w.text, server: nameOf(m)}
				inner.walk(m.Value, "")
				w.found = append(w.found, inner.found...)
				continue
			}
			w.walk(m.Value, join(field, nameOf(m)))
		}
	case *hujson.Array:
		for i, e := range x.Elements {
			w.walk(e, fmt.Sprintf("%s[%d]", field, i))
		}
	case hujson.Literal:
		if x.Kind() == '"' {
			w.found = append(w.found, Text{w.server, field, x.String(), w.text.origin(v.StartOffset)})
		}
	}
}

// Key is the last name of a field path: "API_KEY" of "env.API_KEY", "args" of
// "args[1]".
func (t Text) Key() string {
	field := t.Field
	if i := strings.IndexByte(field, '['); i >= 0 {
		field = field[:i]
	}
	for _, part := range []string{"env.", "headers."} {
		if key, ok := strings.CutPrefix(field, part); ok {
			return key // which may hold a dot
		}
	}
	return field[strings.LastIndexByte(field, '.')+1:]
}

// Standard is a JSONC file as plain JSON, for files that are not ours: without
// byte order mark, comments and trailing commas. The Problem says where it does
// not parse, or nests deeper than any config does.
func Standard(path string, data []byte) ([]byte, *Problem) {
	root, p := newText(path, data).tree()
	if p != nil {
		return nil, p
	}
	root.Standardize()
	return root.Pack(), nil
}
