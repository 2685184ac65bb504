package roots

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestMetaCheckout(t *testing.T) {
	const turn = `{"session_id":"s","workspaces":{"/wt/greet":{"has_changes":false}}}`
	quoted, err := json.Marshal(turn)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, meta, want string }{
		{"an object names it", `{"x-codex-turn-metadata":` + turn + `,"progressToken":1}`, "/wt/greet"},
		{"a string holds the object", fmt.Sprintf(`{"x-codex-turn-metadata":%s}`, quoted), "/wt/greet"},
		{"two workspaces name none", `{"x-codex-turn-metadata":{"workspaces":{"/a":{},"/b":{}}}}`, ""},
		{"no workspace names none", `{"x-codex-turn-metadata":{"workspaces":{}}}`, ""},
		{"a relative one names none", `{"x-codex-turn-metadata":{"workspaces":{"a":{}}}}`, ""},
		{"a list names none", `{"x-codex-turn-metadata":{"workspaces":["/a"]}}`, ""},
		{"another host names none", `{"progressToken":1}`, ""},
		{"null names none", `{"x-codex-turn-metadata":null}`, ""},
		{"no _meta names none", ``, ""},
		{"a bad string names none", `{"x-codex-turn-metadata":"{"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MetaCheckout([]byte(tt.meta)); got != tt.want {
				t.Errorf("MetaCheckout(%s): got %q, want %q", tt.meta, got, tt.want)
			}
		})
	}
}

func FuzzMetaCheckout(f *testing.F) {
	f.Add([]byte(`{"x-codex-turn-metadata":{"workspaces":{"/a":{}}}}`))
	f.Add([]byte(`{"x-codex-turn-metadata":"{\"workspaces\":{\"/a\":{}}}"}`))
	f.Fuzz(func(t *testing.T, meta []byte) {
		if got := MetaCheckout(meta); got != "" && !strings.HasPrefix(got, "/") {
			t.Errorf("MetaCheckout(%q): got %q", meta, got)
		}
	})
}
