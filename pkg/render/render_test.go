package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

const (
	someShared = `{
  // one list for every machine
  "mcpServers": {
    "gopls": { "command": "gopls", "args": ["mcp"], "mcpx": { "scope": "worktree" } },
    "db": { "command": "codedb", "args": ["mcp"], "env": { "B": "2", "A": "1" } },
    "off": { "command": "x", "disabled": true },
  },
}`
	someMachine = `{ "home": "/home/you", "hosts": ["codex", "cursor"], "runtimeDir": "~/run",
  "mcpServers": { "db": { "args": ["mcp", "~/git"] } } }`
)

func someFleet() Input {
	return Input{Dir: "fleet", Machine: "laptop", Files: map[string][]byte{
		".mcpx.json":            []byte(someShared),
		"rules.json":            []byte(`{ "rules": [ { "servers": ["db"], "path": "~/src" } ], /* all */ "default": "*" }`),
		"machines/laptop.json":  []byte(someMachine),
		"machines/sandbox.json": []byte(`{"home": "/root"}`),
	}}
}

func TestRenderWritesWhatAMachineReads(t *testing.T) {
	in := someFleet()
	in.Commit = "c0ffee"
	files, ps := Render(in)
	if ps != nil {
		t.Fatal(ps)
	}
	want := map[string]string{
		"mcpx/config.json": `{
  "mcpServers": {
    "db": {
      "args": [
        "mcp",
        "/home/you/git"
      ],
      "command": "codedb",
      "env": {
        "A": "1",
        "B": "2"
      }
    },
    "gopls": {
      "args": [
        "mcp"
      ],
      "command": "gopls",
      "mcpx": {
        "scope": "worktree"
      }
    },
    "off": {
      "command": "x",
      "mcpx": {
        "disabled": true
      }
    }
  }
}
`,
		"mcpx/rules.json": `{
  "default": "*",
  "rules": [
    {
      "path": "~/src",
      "servers": [
        "db"
      ]
    }
  ]
}
`,
		"hosts/codex/config.toml": `[mcp_servers]
[mcp_servers.db]
args = ["connect", "db", "--runtime-dir", "/home/you/run"]
command = "mcpx"
[mcp_servers.gopls]
args = ["connect", "gopls", "--runtime-dir", "/home/you/run"]
command = "mcpx"
`,
		"hosts/cursor/mcp.json": `{
  "mcpServers": {
    "db": {
      "args": [
        "connect",
        "db",
        "--runtime-dir",
        "/home/you/run"
      ],
      "command": "mcpx",
      "type": "stdio"
    },
    "gopls": {
      "args": [
        "connect",
        "gopls",
        "--runtime-dir",
        "/home/you/run"
      ],
      "command": "mcpx",
      "type": "stdio"
    }
  }
}
`,
	}
	manifest, ok := ParseManifest(files[ManifestName])
	delete(files, ManifestName)
	got := map[string]string{}
	for name, data := range files {
		got[name] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !ok || manifest.Machine != "laptop" || manifest.Commit != "c0ffee" || manifest.Dirty {
		t.Errorf("got the manifest %+v", manifest)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(manifest.Files))); diff != "" {
		t.Errorf("files of the manifest (-want +got):\n%s", diff)
	}
}

func TestRenderedConfigLoads(t *testing.T) {
	files, ps := Render(someFleet())
	if ps != nil {
		t.Fatal(ps)
	}
	f, ps := config.Parse("config.json", config.User, files["mcpx/config.json"])
	if ps != nil {
		t.Fatal(ps)
	}
	view := config.Merge(f)
	if diff := cmp.Diff([]string{"db", "gopls", "off"}, view.Names); diff != "" || view.Problems != nil || !view.Servers["off"].Disabled {
		t.Errorf("problems %v, servers (-want +got):\n%s", view.Problems, diff)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	first, _ := Render(someFleet())
	for range 20 {
		again, _ := Render(someFleet())
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	}
	for name, data := range first {
		if strings.HasPrefix(string(data), "\xef\xbb\xbf") || strings.Contains(string(data), "\r") || !strings.HasSuffix(string(data), "\n") {
			t.Errorf("%s has a byte order mark, a carriage return or no newline at the end", name)
		}
	}
}

func TestAByteOrderMarkAndWindowsLinesChangeNothing(t *testing.T) {
	want, _ := Render(someFleet())
	in := someFleet()
	for name, data := range in.Files {
		in.Files[name] = []byte("\xef\xbb\xbf" + strings.ReplaceAll(string(data), "\n", "\r\n"))
	}
	got, ps := Render(in)
	if ps != nil {
		t.Fatal(ps)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// report is one line a problem: its rule, place, server, field and hint.
func report(ps config.Problems) string {
	var b strings.Builder
	for _, p := range ps {
		kind := "error"
		if p.Warning {
			kind = "warning"
		}
		fmt.Fprintf(&b, "%s [%s] %v | %s\n", kind, p.Rule, p, p.Hint)
	}
	return b.String()
}
