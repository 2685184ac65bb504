package session

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
)

// What initialize is answered with: the server's own, shaped, or a superset.
const (
	own   = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"own","version":"9"},"x":[1.0]}`
	super = `{"capabilities":{"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"protocolVersion":"2025-06-18","serverInfo":{"name":"srv","version":"1"}}`
)

func TestInitializeIsAnsweredBeforeTheScopeIsKnown(t *testing.T) {
	disabled := server(scope.Cwd)
	disabled.Disabled = true
	tests := []struct {
		name   string
		edit   func(s *stage)
		waits  time.Duration
		want   string
		starts string
	}{
		{"from the instance, in a directory that is certain", nil, 0, own, "cwd:/desk"},
		{"from the kept catalogue, and nothing starts", func(s *stage) { s.servers.keep(nil) }, 0, own, ""},
		{"with a superset when the start is slow", func(s *stage) { s.servers.slow = 3 * time.Second }, 2 * time.Second, super, "cwd:/desk"},
		{"with a superset when the start fails", func(s *stage) { s.servers.refuse = errors.New("no") }, 0, super, "cwd:/desk"},
		{"with a superset at home, where desktop hosts start everything", func(s *stage) { s.hello.Cwd = "/home/u" }, 0, super, ""},
		{"with a superset at /", func(s *stage) { s.hello.Cwd = "/" }, 0, super, ""},
		{"from the instance at home, if a person said so", func(s *stage) { s.hello.Flags.Cwd = "/home/u" }, 0, own, "cwd:/home/u"},
		{"from the instance at home, if a variable said so", func(s *stage) { s.hello.Env = map[string]string{"MCPX_CWD": "/home/u"} }, 0, own, "cwd:/home/u"},
		{"with a superset for a disabled server", func(s *stage) { s.world.configure("", view(disabled)) }, 0, super, ""},
		{"with a superset for an untrusted server", func(s *stage) {
			s.world.configure("", &config.Config{Untrusted: []config.Untrusted{{Name: "srv", File: "/desk/.mcpx.json"}}})
		}, 0, super, ""},
		{"with a superset for a broken server", func(s *stage) {
			s.world.configure("", &config.Config{Problems: config.Problems{{Server: "srv", Msg: "no command"}}})
		}, 0, super, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.edit, func(s *stage) {
				s.sends(plain)
				if tt.waits > 0 {
					s.gets()
					time.Sleep(tt.waits)
				}
				s.gets(result(0, tt.want))
				if got := s.servers.started(); got != tt.starts {
					t.Errorf("started: got %q, want %q", got, tt.starts)
				}
			})
		})
	}
}

func TestANameInNoFile(t *testing.T) {
	const reason = `no config file names a server "srv"`
	none := func(s *stage) { s.world.configure("", view()) }
	told := func(s *stage) {
		t.Helper()
		want := []string{"mcpx: " + reason + "\n   hint: no server is configured here: mcpx config --sources shows which files were read"}
		if diff := cmp.Diff(want, s.host.said); diff != "" {
			t.Errorf("said on stderr (-want +got):\n%s", diff)
		}
		if s.conn.Exit() != 1 {
			t.Errorf("exit: got %d, want 1", s.conn.Exit())
		}
	}
	t.Run("is an error at once", func(t *testing.T) {
		play(t, none, func(s *stage) {
			s.sends(plain)
			s.refuses(0, wire.CodeInternal, reason)
			told(s)
			s.sends(initialized, list(1, "tools"))
			s.refuses(1, wire.CodeInvalidParams, reason)
			told(s)
		})
	})
	t.Run("is an error at the first request when the host has yet to say where it is", func(t *testing.T) {
		play(t, none, func(s *stage) {
			s.sends(rooted)
			s.gets(result(0, super))
			s.sends(initialized, list(1, "tools"), stands(1, "/elsewhere"))
			got := s.got()
			if len(got) != 2 || got[0] != asked(1) {
				t.Fatalf("the host got %q", got)
			}
			if diff := cmp.Diff(problem{1, wire.CodeInvalidParams, reason}, problemOf(t, got[1])); diff != "" {
				t.Errorf("the error (-want +got):\n%s", diff)
			}
			told(s)
		})
	})
	t.Run("may be in the directory that the host names", func(t *testing.T) {
		play(t, func(s *stage) {
			none(s)
			s.world.configure("/project", view(server(scope.Cwd)))
		}, func(s *stage) {
			s.sends(rooted, initialized, stands(1, "/project"), call(1, "a"))
			s.gets(result(0, super), asked(1), by(1, "cwd:/project"))
			if s.conn.Exit() != 0 {
				t.Errorf("exit: got %d, want 0", s.conn.Exit())
			}
		})
	})
}

func TestShape(t *testing.T) {
	tests := []struct{ name, result, protocol, want string }{
		{"lists say when they change, the rest stays as sent",
			`{"a":1.0,"capabilities":{"tools":{},"prompts":{"listChanged":false,"x":1},"logging":{},"vendor":{"k":[1e3]}},"protocolVersion":"2025-06-18","instructions":"\u00e9"}`, "2025-06-18",
			`{"a":1.0,"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true,"x":1},"logging":{},"vendor":{"k":[1e3]}},"protocolVersion":"2025-06-18","instructions":"\u00e9"}`},
		{"the older of both revisions counts: the host's",
			`{"protocolVersion":"2025-11-25","capabilities":{}}`, "2025-03-26", `{"protocolVersion":"2025-03-26","capabilities":{}}`},
		{"the older of both revisions counts: the server's",
			`{"protocolVersion":"2024-11-05","capabilities":{}}`, "2025-11-25", `{"protocolVersion":"2024-11-05","capabilities":{}}`},
		{"a revision nobody knows is not passed on",
			`{"protocolVersion":"0.1","capabilities":{}}`, "2025-03-26", `{"protocolVersion":"2025-03-26","capabilities":{}}`},
		{"nor one that is no text",
			`{"protocolVersion":7,"capabilities":{}}`, "2025-03-26", `{"protocolVersion":"2025-03-26","capabilities":{}}`},
		{"a server without a revision or capabilities gets along",
			`{}`, "2025-06-18", `{"protocolVersion":"2025-06-18"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(shape([]byte(tt.result), tt.protocol))); diff != "" {
				t.Errorf("shape (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOffered(t *testing.T) {
	tests := []struct {
		name, result string
		want         families
	}{
		{"what is declared", `{"capabilities":{"tools":{},"resources":{"subscribe":true}}}`, families{tools: true, resources: true}},
		{"null declares nothing", `{"capabilities":{"tools":null,"prompts":{}}}`, families{prompts: true}},
		{"no capabilities are none", `{}`, families{}},
		{"nor is what is no object", `[]`, families{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := offered([]byte(tt.result)); got != tt.want {
				t.Errorf("offered(%s): got %+v, want %+v", tt.result, got, tt.want)
			}
		})
	}
}

func TestSupersetIsOneLineOfJSON(t *testing.T) {
	got := superset("a\n\"b", "1", "2025-06-18")
	if _, err := wire.Scan(wire.AppendResult(nil, []byte("1"), got)[:len(got)+len(`{"jsonrpc":"2.0","id":1,"result":}`)]); err != nil {
		t.Errorf("superset: %s: %v", got, err)
	}
}
