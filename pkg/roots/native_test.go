package roots

import (
	"encoding/json"
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
