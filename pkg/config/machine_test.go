package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sharedFile = `{
  "mcpServers": {
    "db": {
      "command": "codedb",
      "args": ["mcp", "one", "two"],
      "env": {"A": "1", "B": "2"},
      "mcpx": {"scope": "global", "max": 2, "secrets": {"T": {"file": "~/t"}}},
    },
    "off": {"command": "x", "disabled": true},
  },
  "daemon": {"maxStarts": 2, "http": {"listen": "127.0.0.1:1", "auth": "none"}, "rules": {"onError": "closed"}},
}`

func TestAMachineIsPutOverTheSharedFile(t *testing.T) {
	shared, ps := Parse("shared", Explicit, []byte(sharedFile))
	if ps != nil {
		t.Fatal(ps)
	}
	m, ps := ParseMachine("m", []byte(`{
		"home": "/home/you/",
		"runtimeDir": "~/run",
		"mcpServers": {
			"db": {"args": ["mcp", "~/git"], "env": {"B": "~/b", "C": "x~/"}, "mcpx": {"max": 3}},
			"off": {"disabled": false},
		},
		"daemon": {"http": {"listen": "127.0.0.1:2"}, "path": ["~/bin"], "rules": {"logDecisions": false}},
	}`))
	if ps != nil {
		t.Fatal(ps)
	}
	if m.Home != "/home/you" || m.RuntimeDir != "/home/you/run" {
		t.Errorf("got home %q and runtimeDir %q", m.Home, m.RuntimeDir)
	}
	before := asJSON(t, shared.RawFile())
	want := `{
  "mcpServers": {
    "db": {
      "command": "codedb",
      "args": ["mcp", "/home/you/git"],
      "env": {"A": "1", "B": "/home/you/b", "C": "x~/"},
      "mcpx": {"scope": "global", "max": 3, "secrets": {"T": {"file": "~/t"}}}
    },
    "off": {"command": "x", "mcpx": {"disabled": false}}
  },
  "daemon": {"maxStarts": 2, "http": {"listen": "127.0.0.1:2"}, "path": ["/home/you/bin"], "rules": {"onError": "closed", "logDecisions": false}}
}`
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	over := m.Over(shared)
	if diff := cmp.Diff(wanted, asJSON(t, over.RawFile())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, asJSON(t, shared.RawFile())); diff != "" {
		t.Errorf("the shared file changed (-before +after):\n%s", diff)
	}
	for field, want := range map[string]Origin{
		"args[1]": {"m", 5, 27}, "args[2]": {"shared", 3, 5}, "env.A": {"shared", 6, 20}, "env.B": {"m", 5, 50}, "": {"shared", 3, 5},
	} {
		if diff := cmp.Diff(want, over.At("db", field)); diff != "" {
			t.Errorf("where %q stands (-want +got):\n%s", field, diff)
		}
	}
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsWrongWithAMachine(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no home", `{}`, []string{"m:1:1: home: is not an absolute directory"}},
		{"a relative home", `{"home": "you"}`, []string{"m:1:10: home: is not an absolute directory"}},
		{"an unknown key", `{"home": "/h", "host": []}`, []string{"m:1:16: host: unknown key"}},
		{"a server taken away", `{"home": "/h", "mcpServers": {"a": null}}`, []string{`m:1:31: server "a": a machine may not remove a server`}},
		{"a key of the mcpx block beside it", `{"home": "/h", "mcpServers": {"a": {"scope": "cwd"}}}`,
			[]string{`m:1:37: server "a": scope: belongs in the "mcpx" block`}},
		{"a slip", `{"home": "/h", "mcpServers": {"a": {"arg": []}}}`, []string{`m:1:37: server "a": arg: unknown key`}},
		{"a relative runtimeDir", `{"home": "/h", "runtimeDir": "run"}`, []string{"m:1:30: runtimeDir: is not an absolute directory"}},
		{"not JSON", `{"home": }`, []string{"m:1:10: invalid character '}' at start of value"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := ParseMachine("m", []byte(tt.text))
			var got []string
			for _, p := range ps {
				if p.Hint == "" {
					t.Errorf("%v: no hint", p)
				}
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMachineIsCheckedTogetherWithTheSharedFile(t *testing.T) {
	shared, _ := Parse("shared", Explicit, []byte(`{"mcpServers": {"a": {"command": "a"}, "bad": {"command": 1}}}`))
	m, _ := ParseMachine("m", []byte(`{"home": "/h", "mcpServers": {
		"a": {"url": "https://h", "args": ["${mcpx.rot}"]}, "bad": {"command": "b"}}}`))
	var got []string
	for _, p := range m.Over(shared).Problems() {
		got = append(got, p.Error())
	}
	want := []string{
		`m:2:16: server "a": url: set beside command`,
		`m:2:37: server "a": args: not used with url: there is no process`,
		`m:2:38: server "a": args[0]: unknown placeholder ${mcpx.rot}`,
		`shared:1:59: server "bad": command: must be a string, and is a number`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever two files hold, one over the other is as sound as each alone.
func FuzzOver(f *testing.F) {
	f.Add([]byte(sharedFile), []byte(`{"home": "/h", "mcpServers": {"db": {"args": [], "env": null, "mcpx": {"secrets": {}}}}, "daemon": {}}`))
	f.Add([]byte(`{"mcpServers": {"db": {"url": "https://h"}}}`), []byte(`{"home": "/h", "mcpServers": {"db": null}, "hosts": ["x"]}`))
	f.Fuzz(func(t *testing.T, shared, machine []byte) {
		file, _ := Parse("s", Explicit, shared)
		m, _ := ParseMachine("m", machine)
		over := m.Over(file)
		data, err := json.Marshal(over.RawFile())
		if err != nil {
			t.Fatal(err)
		}
		again, ps := Parse("again", Explicit, data)
		if ps.HasErrors() {
			t.Fatalf("what was put together does not load: %v\n%s", ps, data)
		}
		if diff := cmp.Diff(len(over.RawFile().Servers), len(again.Names())); diff != "" {
			t.Fatalf("servers were lost (-want +got):\n%s", diff)
		}
		nodes, _ := Nodes("s", shared)
		for _, n := range nodes {
			if n.At.Line < 1 || n.At.Col < 1 {
				t.Fatalf("a value without a place: %+v", n)
			}
		}
	})
}
