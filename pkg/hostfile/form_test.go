package hostfile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

// document reads a rendered file with a parser that knows nothing of ours.
func document(t *testing.T, h Host, data []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	var err error
	if strings.HasSuffix(h.File, ".toml") {
		err = toml.Unmarshal(data, &doc)
	} else {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatalf("%s: %v in\n%s", h.Name, err, data)
	}
	return doc
}

type (
	tree = map[string]any
	list = []any
)

func TestEachHostGetsItsOwnShape(t *testing.T) {
	args := list{"connect", "gopls", "--runtime-dir", "/run/x"}
	plain := tree{"command": "mcpx", "args": args}
	typed := tree{"type": "stdio", "command": "mcpx", "args": args}
	tests := []struct {
		host string
		want tree
	}{
		{"claude-code", tree{"mcpServers": tree{"gopls": plain}}},
		{"claude-desktop", tree{"mcpServers": tree{"gopls": plain}}},
		{"gemini", tree{"mcpServers": tree{"gopls": plain}}},
		{"home-manager", tree{"mcpServers": tree{"gopls": plain}}},
		{"cursor", tree{"mcpServers": tree{"gopls": typed}}},
		{"vscode", tree{"servers": tree{"gopls": typed}}},
		{"codex", tree{"mcp_servers": tree{"gopls": plain}}},
		{"zed", tree{"context_servers": tree{"gopls": tree{"command": "mcpx", "args": args, "env": tree{}}}}},
		{"opencode", tree{
			"$schema": "https://opencode.ai/config.json",
			"mcp": tree{"gopls": tree{
				"type": "local", "enabled": true,
				"command": list{"mcpx", "connect", "gopls", "--runtime-dir", "/run/x"},
			}},
		}},
	}
	if len(tests) != len(All()) {
		t.Errorf("%d hosts are tested, and there are %d", len(tests), len(All()))
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			h, _ := Named(tt.host)
			data, err := h.Encode([]Entry{Connect("gopls", "/run/x")})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, document(t, h, data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntriesAreSortedAndEndWithANewline(t *testing.T) {
	one, two := Connect("b", ""), Connect("a", "")
	for _, h := range All() {
		first, err := h.Encode([]Entry{one, two})
		if err != nil {
			t.Fatal(err)
		}
		second, err := h.Encode([]Entry{two, one})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("%s: the order of entries shows (-ba +ab):\n%s", h.Name, diff)
		}
		if !strings.HasSuffix(string(first), "\n") || strings.HasSuffix(string(first), "\n\n") || strings.Contains(string(first), "\r") {
			t.Errorf("%s does not end with one newline: %q", h.Name, first)
		}
	}
}

func TestEveryHostNamesItsPageAndItsFiles(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range All() {
		if !strings.HasPrefix(h.Doc, "https://") || h.File == "" || len(h.Places) == 0 || h.Title == "" {
			t.Errorf("%s is not described: %+v", h.Name, h)
		}
		if seen[h.Name] {
			t.Errorf("%s is there twice", h.Name)
		}
		seen[h.Name] = true
	}
	if _, ok := Named("emacs"); ok {
		t.Error("a host nobody knows was found")
	}
}

func TestRegisterLines(t *testing.T) {
	tests := []struct {
		host  string
		level Level
		want  string
	}{
		{"claude-code", User, "claude mcp remove --scope user db; claude mcp add --scope user db -- mcpx connect db --runtime-dir '/a b'"},
		{"claude-code", Local, "claude mcp remove --scope local db; claude mcp add --scope local db -- mcpx connect db --runtime-dir '/a b'"},
		{"codex", User, "codex mcp add db -- mcpx connect db --runtime-dir '/a b'"},
		{"codex", Project, `in .codex/config.toml set [mcp_servers.db] to command = "mcpx", args = ["connect","db","--runtime-dir","/a b"]`},
		{"gemini", User, "gemini mcp add --scope user db mcpx connect db -- --runtime-dir '/a b'"},
		{"opencode", User, "opencode mcp add db -- mcpx connect db --runtime-dir '/a b'"},
		{"opencode", Project, `in opencode.json set mcp.db to {"command":["mcpx","connect","db","--runtime-dir","/a b"],"enabled":true,"type":"local"}`},
		{"vscode", User, `code --add-mcp '{"args":["connect","db","--runtime-dir","/a b"],"command":"mcpx","name":"db"}'`},
		{"vscode", Project, `in .vscode/mcp.json set servers.db to {"args":["connect","db","--runtime-dir","/a b"],"command":"mcpx","type":"stdio"}`},
		{"cursor", User, `in ~/.cursor/mcp.json set mcpServers.db to {"args":["connect","db","--runtime-dir","/a b"],"command":"mcpx","type":"stdio"}`},
		{"zed", Project, `in .zed/settings.json set context_servers.db to {"args":["connect","db","--runtime-dir","/a b"],"command":"mcpx","env":{}}`},
		{"claude-desktop", User, `in claude_desktop_config.json set mcpServers.db to {"args":["connect","db","--runtime-dir","/a b"],"command":"mcpx"}`},
		{"home-manager", User, `in your home-manager configuration set programs.mcp.servers.db to { command = "mcpx"; args = [ "connect" "db" "--runtime-dir" "/a b" ]; }`},
	}
	claude, _ := Named("claude-code")
	want := `in .mcp.json set mcpServers.a.b to {"args":["connect","a.b"],"command":"mcpx"}`
	if got := claude.Register(Connect("a.b", ""), Project); got != want {
		t.Errorf("a name claude mcp add refuses: got %s, want %s", got, want)
	}
	for _, tt := range tests {
		h, _ := Named(tt.host)
		if diff := cmp.Diff(tt.want, h.Register(Connect("db", "/a b"), tt.level)); diff != "" {
			t.Errorf("%s at level %s (-want +got):\n%s", tt.host, tt.level, diff)
		}
	}
}
