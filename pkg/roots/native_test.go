package roots

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNative(t *testing.T) {
	got, err := ParseNative([]byte(`{"roots":[{"uri":"file:///r%20x","name":"mine","_meta":{}},{"uri":"/plain"},{}],"_meta":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Root{
		{URI: "file:///r%20x", Name: "mine", Path: "/r x", Origin: Native},
		{URI: "/plain", Origin: Native, Ignored: "a plain path, not a file URI"},
		{Origin: Native, Ignored: "not a file URI"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseNative (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "[]", `{"roots":{}}`, `{"roots":[1]}`, "null junk"} {
		if got, err := ParseNative([]byte(bad)); err == nil {
			t.Errorf("ParseNative(%q): got %v, want an error", bad, got)
		}
	}
}

func TestParseNativeIsBounded(t *testing.T) {
	many := `{"uri":"file:///r"}` + strings.Repeat(`,{"uri":"file:///r"}`, 99)
	got, err := ParseNative([]byte(`{"roots":[` + many + `]}`))
	if err != nil || len(got) != maxNative+1 {
		t.Fatalf("got %d roots, %v; want %d and a note", len(got), err, maxNative)
	}
	if want := "36 more: at most 64 are kept"; got[maxNative].Ignored != want {
		t.Errorf("note: got %q, want %q", got[maxNative].Ignored, want)
	}
}

func TestListIsWhatAServerReads(t *testing.T) {
	set := []Root{root("/a <b>&c", Set), {URI: "x:y", Ignored: "no"}, {URI: "file:///r", Name: "my \"r\""}}
	want := `{"roots":[{"uri":"file:///a%20%3Cb%3E&c","name":"a <b>&c"},{"uri":"file:///r","name":"my \"r\""}]}`
	if got := string(List(set)); got != want {
		t.Errorf("List: got %s, want %s", got, want)
	}
	if got := string(List(nil)); got != `{"roots":[]}` {
		t.Errorf("List of nothing: got %s", got)
	}
}

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

func FuzzParseNative(f *testing.F) {
	f.Add([]byte(`{"roots":[{"uri":"file:///r","name":"r"},{"uri":"x:y"}]}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		rs, err := ParseNative(result)
		if err != nil {
			return
		}
		for _, r := range rs {
			if (r.Path == "") == (r.Ignored == "") {
				t.Errorf("%+v is neither a path nor ignored", r)
			}
		}
		if !json.Valid(List(rs)) {
			t.Errorf("List(%v) is not JSON: %s", rs, List(rs))
		}
	})
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
