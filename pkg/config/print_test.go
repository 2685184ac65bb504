package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
)

const printed = `{"mcpServers": {
	"a": {"command": "npx", "args": ["-y", "srv", "--api-key", "CANARY1", "--token=CANARY2${mcpx.root}", "-e", "API_KEY=CANARY3",
		"Authorization:Bearer CANARY4", "https://CANARY5:x@h/p?k=CANARY6", "--url=https://h/?k=CANARY7", "ghp_CANARY80123456789", "--verbose"],
		"env": {"X": "CANARY9${mcpx.root}/CANARY9", "EMPTY": ""}, "cwd": "/srv", "icon": "i",
		"mcpx": {"scope": "worktree", "idleTimeout": "never", "tools": [], "roots": false, "description": "d",
			"secrets": {"S": {"file": "~/.s"}, "C": {"command": ["pass", "--password", "CANARY10"]}}}},
	"r": {"url": "https://u:CANARY11@h/p?key=CANARY12", "headers": {"Authorization": "Bearer CANARY13"}, "disabled": true}
}, "daemon": {"env": {"D": "CANARY14"}, "http": {"listen": "127.0.0.1:1"}, "rules": {"path": "/r"}}}`

func TestPrintShowsNoSecret(t *testing.T) {
	view := Merge(file(t, "/h/f.json", User, printed))
	got, err := view.Print(false)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "CANARY") {
		t.Errorf("a secret is shown:\n%s", got)
	}
	want := `{
  "mcpServers": {
    "a": {
      "command": "npx",
      "args": [
        "-y",
        "srv",
        "--api-key",
        "•••",
        "--token=•••${mcpx.root}",
        "-e",
        "API_KEY=•••",
        "Authorization: •••",
        "https://•••@h/p?k=•••",
        "--url=https://h/?k=•••",
        "•••",
        "--verbose"
      ],
      "env": {
        "EMPTY": "",
        "X": "•••${mcpx.root}•••"
      },
      "cwd": "/srv",
`
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("output (-want +got):\n%s", cmp.Diff(want, string(got)))
	}
	again, _ := Merge(file(t, "/h/f.json", User, printed)).Print(false)
	if diff := cmp.Diff(string(got), string(again)); diff != "" {
		t.Errorf("two prints differ (-first +second):\n%s", diff)
	}
}

func TestPrintRevealedIsTheSameConfig(t *testing.T) {
	view := Merge(file(t, "/h/f.json", User, printed))
	out, err := view.Print(true)
	if err != nil {
		t.Fatal(err)
	}
	again := Merge(file(t, "/h/f.json", User, string(out)))
	where := cmpopts.IgnoreFields(Resolved{}, "Origins")
	if diff := cmp.Diff(view, again, where, cmpopts.IgnoreFields(Config{}, "Problems")); diff != "" {
		t.Errorf("config (-printed +read again):\n%s", diff)
	}
}

func TestSourcesNameTheLineOfEachField(t *testing.T) {
	user := file(t, "/h/u.json", User, "{\"mcpServers\": {\n\"a\": {\"command\": \"x\",\n\"args\": [\"y\"]}}}")
	near := file(t, "/p/.mcpx.json", Project, servers(`"a": {"mcpx": {"max": 1}}`))
	want := []Source{
		{"a", "", Origin{"/h/u.json", 2, 1}},
		{"a", "args", Origin{"/h/u.json", 3, 9}},
		{"a", "args[0]", Origin{"/h/u.json", 3, 10}},
		{"a", "command", Origin{"/h/u.json", 2, 18}},
		{"a", "mcpx.max", Origin{"/p/.mcpx.json", 1, 39}},
	}
	if diff := cmp.Diff(want, Merge(near, user).Sources()); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

func TestSchemaIsFresh(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("schema.json is stale: go generate ./pkg/config (-want +got):\n%s", diff)
	}
}

func TestSchemaAgreesWithParse(t *testing.T) {
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, src string }{
		{"a full file", printed},
		{"other hosts' keys", servers(`"a": {"command": "x", "icon": 1}`)},
		{"an unknown key of ours", servers(`"a": {"command": "x", "mcpx": {"scop": "cwd"}}`)},
		{"a bad enumeration", servers(`"a": {"command": "x", "mcpx": {"scope": "no"}}`)},
		{"never, where it is allowed", servers(`"a": {"command": "x", "mcpx": {"idleTimeout": "never"}}`)},
		{"never, where it is not", servers(`"a": {"command": "x", "mcpx": {"callTimeout": "never"}}`)},
		{"a negative count", servers(`"a": {"command": "x", "mcpx": {"max": -1}}`)},
		{"a null", servers(`"a": {"command": "x", "args": null}`)},
		{"a bad name", servers(`"a b": {"command": "x"}`)},
		{"an unknown key of the daemon's", `{"daemon": {"maxInstance": 3}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v any
			if err := json.Unmarshal([]byte(tt.src), &v); err != nil {
				t.Fatal(err)
			}
			_, ps := Parse("f.json", User, []byte(tt.src))
			if err := resolved.Validate(v); (err == nil) == ps.HasErrors() {
				t.Errorf("the schema says %v, Parse says:\n%s", err, report(ps))
			}
		})
	}
}
