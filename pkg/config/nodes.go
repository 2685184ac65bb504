package config

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Node is one value of a file and where it stands.
type Node struct {
	Server string // whose entry it is in; "" outside mcpServers
	Field  string // as in Problem.Field: "args[1]", "mcpx.secrets.KEY.file"
	Kind   byte   // the first character of its kind: { [ " 0 t f n
	Value  string // of a string, unquoted; as written of a number, true, false and null
	At     Origin
}

// Nodes are all values of a JSONC file in the order they are written: those of
// entries with errors, of keys set twice and of other hosts' keys, too. The
// Problem says where the file does not parse.
func Nodes(path string, data []byte) ([]Node, *Problem) {
	t := newText(path, data)
	root, p := t.tree()
	if p != nil {
		return nil, p
	}
	w := walker{text: t}
	w.walk(root, "")
	return w.found, nil
}

// Tree parses a JSONC file; place says where in it a byte stands, counted after
// a byte order mark. The Problem says where it does not parse.
func Tree(path string, data []byte) (root hujson.Value, place func(offset int) Origin, p *Problem) {
	t := newText(path, data)
	root, p = t.tree()
	return root, t.origin, p
}

// walker gathers the values below one.
type walker struct {
	text   *text
	server string
	found  []Node
}

func (w *walker) walk(v hujson.Value, field string) {
	n := Node{Server: w.server, Field: field, Kind: byte(v.Value.Kind()), At: w.text.origin(v.StartOffset)}
	if x, ok := v.Value.(hujson.Literal); ok {
		n.Value = string(x)
		if n.Kind == '"' {
			n.Value = x.String()
		}
	}
	w.found = append(w.found, n)
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
	}
}

// Key is the last name of a field path: "API_KEY" of "env.API_KEY", "args" of
// "args[1]".
func (n Node) Key() string {
	field := n.Field
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
