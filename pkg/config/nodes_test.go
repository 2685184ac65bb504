package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodesAreAllThatIsWritten(t *testing.T) {
	text := "{ // c\n" + `"mcpServers": {"a": {"args": ["x", 1], "env": {"K.L": "v"}, "icon": {"src": "i"}}, "a": {"command": "again"}},` +
		"\n" + `"daemon": {"path": ["p"]}, "other": "o"}`
	want := []Node{
		{"a", "args[0]", '"', "x", Origin{"f", 2, 31}},
		{"a", "args[1]", '0', "1", Origin{"f", 2, 36}},
		{"a", "env.K.L", '"', "v", Origin{"f", 2, 55}},
		{"a", "icon.src", '"', "i", Origin{"f", 2, 77}},
		{"a", "command", '"', "again", Origin{"f", 2, 101}},
		{"", "daemon.path[0]", '"', "p", Origin{"f", 3, 21}},
		{"", "other", '"', "o", Origin{"f", 3, 37}},
	}
	nodes, p := Nodes("f", []byte(text))
	if p != nil {
		t.Fatal(p)
	}
	var got []Node
	var names []string
	for _, n := range nodes {
		if n.Kind == '{' || n.Kind == '[' {
			continue
		}
		got = append(got, n)
		names = append(names, n.Key())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"args", "args", "K.L", "src", "command", "path", "other"}, names); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if _, p := Nodes("f", []byte("{")); p == nil || p.Line != 1 {
		t.Errorf("half a file: got %v, want its place", p)
	}
}
