package hostfile

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

func TestDecodeReadsWhatHostsWrite(t *testing.T) {
	tests := []struct {
		name, host, text, dir string
		want                  []Entry
	}{
		{"an entry as claude mcp add writes it", "claude-code",
			`{"numStartups": 3, "mcpServers": {"db": {"type": "stdio", "command": "codedb", "args": ["-v"], "env": {}}}}`, "",
			[]Entry{{Name: "db", Command: "codedb", Args: []string{"-v"}}}},
		{"an entry for one project counts below it", "claude-code",
			`{"projects": {"/src/app": {"mcpServers": {"db": {"command": "codedb"}}}, "/src": {"mcpServers": {"x": {"command": "x"}}}}}`, "/src/app/api",
			[]Entry{{Name: "db", Command: "codedb", Local: true}}},
		{"and nowhere else", "claude-code",
			`{"projects": {"/src/app": {"mcpServers": {"db": {"command": "codedb"}}}}}`, "/src/application", nil},
		{"a remote", "claude-code",
			`{"mcpServers": {"r": {"type": "http", "url": "https://h/mcp", "headers": {"X": "1"}}}}`, "",
			[]Entry{{Name: "r", URL: "https://h/mcp", Headers: map[string]string{"X": "1"}}}},
		{"the old transport is news", "claude-code",
			`{"mcpServers": {"r": {"type": "sse", "url": "https://h/sse"}}}`, "",
			[]Entry{{Name: "r", URL: "https://h/sse", Left: []string{"type"}}}},
		{"comments, a trailing comma and a byte order mark", "zed",
			"\xef\xbb\xbf// mine\n" + `{"theme": "x", "context_servers": {"a": {"source": "custom", "command": "a", "args": [], "enabled": false,},},}`, "",
			[]Entry{{Name: "a", Command: "a", Disabled: true}}},
		{"both versions of opencode", "opencode",
			`{"mcp": {"one": {"type": "local", "command": ["a", "b"], "environment": {"K": "v"}, "timeout": 5}, "servers": {"two": {"type": "local", "command": ["c"], "disabled": true}}}}`, "",
			[]Entry{
				{Name: "one", Command: "a", Args: []string{"b"}, Env: map[string]string{"K": "v"}, Left: []string{"timeout"}},
				{Name: "two", Command: "c", Disabled: true},
			}},
		{"gemini's two kinds of address", "gemini",
			`{"mcpServers": {"new": {"httpUrl": "https://h/mcp"}, "old": {"url": "https://h/sse", "trust": true}}}`, "",
			[]Entry{{Name: "new", URL: "https://h/mcp"}, {Name: "old", URL: "https://h/sse", Left: []string{"trust"}}}},
		{"tables of Codex", "codex",
			"model = \"x\"\n[mcp_servers.\"a.b\"]\ncommand = \"a\"\nargs = [\"x y\"]\nstartup_timeout_sec = 60\nenv = { K = \"v\" }\n" +
				"[mcp_servers.r]\nurl = \"https://h\"\nbearer_token_env_var = \"T\"\nenabled = false\nhttp_headers = { H = \"1\" }\n", "",
			[]Entry{
				{Name: "a.b", Command: "a", Args: []string{"x y"}, Env: map[string]string{"K": "v"}, Left: []string{"startup_timeout_sec"}},
				{Name: "r", URL: "https://h", Headers: map[string]string{"H": "1"}, Disabled: true, Left: []string{"bearer_token_env_var"}},
			}},
		{"an entry that is none loses only itself", "cursor",
			`{"mcpServers": {"a": 3, "b": {}, "c": {"command": "c", "args": [1, true], "env": {"N": 5}}}}`, "",
			[]Entry{{Name: "c", Command: "c", Args: []string{"1", "true"}, Env: map[string]string{"N": "5"}}}},
		{"an empty file", "cursor", "\n", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := Named(tt.host)
			got, err := h.Decode("f", []byte(tt.text), tt.dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeSaysWhereAFileBreaks(t *testing.T) {
	for host, text := range map[string]string{"cursor": "{\n  \"mcpServers\": {,\n}", "codex": "model = \"x\"\nargs = [\n", "gemini": "[]"} {
		h, _ := Named(host)
		_, err := h.Decode("f", []byte(text), "")
		p, ok := errors.AsType[config.Problem](err)
		if !ok || p.File != "f" || p.Line < 1 || p.Col < 1 || p.Msg == "" || p.Hint == "" {
			t.Errorf("%s: got %+v, want a place and what to do", host, err)
		}
	}
}

func TestIsConnect(t *testing.T) {
	tests := []struct {
		entry Entry
		want  bool
	}{
		{Connect("a", ""), true},
		{Entry{Command: "/nix/store/x-mcpx/bin/mcpx", Args: []string{"connect", "a"}}, true},
		{Entry{Command: "mcpx", Args: []string{"daemon"}}, false},
		{Entry{Command: "npx", Args: []string{"connect"}}, false},
	}
	for _, tt := range tests {
		if got := tt.entry.IsConnect(); got != tt.want {
			t.Errorf("%s %v: got %v, want %v", tt.entry.Command, tt.entry.Args, got, tt.want)
		}
	}
}

// Whatever a file holds, reading it ends, and what was read can be written and
// read again without a change.
func FuzzDecode(f *testing.F) {
	for i := range All() {
		f.Add(i, []byte(`{"mcpServers": {"a": {"command": "x", "args": ["y"], "disabled": true}, "r": {"url": "https://h", "httpUrl": 1}}, "projects": {"/d": {}}}`))
		f.Add(i, []byte(`{"mcp": {"servers": {"a": {"command": ["x", "y"]}}}, "servers": {"b": {"url": "u"}}, "context_servers": {"": {"command": "c"}}}`))
		f.Add(i, []byte("[mcp_servers.a]\ncommand = \"x\"\nenabled = false\nenv = {K = 1979-05-27}\n"))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		all := All()
		h := all[uint(i)%uint(len(all))]
		entries, err := h.Decode("f", data, "/d/e")
		if err != nil {
			return
		}
		unique := map[string]Entry{}
		for _, e := range entries {
			e.Left, e.Local = nil, false
			if e.URL != "" { // a remote has no process to describe
				e.Command, e.Args, e.Env, e.Cwd = "", nil, nil, ""
			} else {
				e.Headers = nil
			}
			if !h.writesDisabled() {
				e.Disabled = false
			}
			unique[e.Name] = e
		}
		var want []Entry
		for _, name := range keys(unique) {
			want = append(want, unique[name])
		}
		written, err := h.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Decode("f", written, "")
		if err != nil {
			t.Fatalf("what was written does not parse: %v\n%s", err, written)
		}
		for j := range got {
			got[j].Left = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: written and read again (-want +got):\n%s\n%s", h.Name, diff, written)
		}
	})
}

func (h Host) writesDisabled() bool {
	o, ok := h.form.(object)
	return !ok || o.spell.on != "" || o.spell.off != ""
}
