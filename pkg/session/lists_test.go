package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
)

func TestOnlyAllowed(t *testing.T) {
	const all = `{ "tools" : [ {"name":"read","n":1.0} , {"n":2.50,"name":"wr\u0069te"},{"name":7},{} ] , "x":[1e3] }`
	tests := []struct {
		name, method   string
		allow, exclude []string
		want           string
	}{
		{"without patterns nothing changes", "tools/list", nil, nil, all},
		{"what stays is as it was", "tools/list", []string{"read"}, nil, `{ "tools" : [{"name":"read","n":1.0}] , "x":[1e3] }`},
		{"a name is compared decoded", "tools/list", []string{"write"}, nil, `{ "tools" : [{"n":2.50,"name":"wr\u0069te"}] , "x":[1e3] }`},
		{"excludeTools wins", "tools/list", []string{"*"}, []string{"read", "/^$/"}, `{ "tools" : [{"n":2.50,"name":"wr\u0069te"}] , "x":[1e3] }`},
		{"an empty tools offers none", "tools/list", []string{}, nil, `{ "tools" : [] , "x":[1e3] }`},
		{"other lists are left alone", "prompts/list", []string{"read"}, nil, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := onlyAllowed(tt.method, []byte(all), &config.Resolved{Tools: tt.allow, ExcludeTools: tt.exclude})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("onlyAllowed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolsAreFilteredInListsAndCalls(t *testing.T) { // design D9
	filtered := server(scope.Cwd)
	filtered.ExcludeTools = []string{"a"}
	const left = `{"tools":[{"name":"b"}]}`
	for name, kept := range map[string]bool{"kept": true, "live": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				s.world.configure("", view(filtered))
				if kept {
					s.servers.keep(map[string]string{"tools/list": tools})
				}
			}, func(s *stage) {
				s.greet(plain)
				s.sends(list(1, "tools"))
				s.gets(result(1, left))
				s.sends(call(2, "a"))
				s.refuses(2, wire.CodeInvalidParams, `unknown tool "a"`)
				s.sends(call(3, "b"), call(4, "a"))
				got := s.got()
				if len(got) != 2 || got[0] != by(3, "cwd:/desk") || problemOf(t, got[1]).Code != wire.CodeInvalidParams {
					t.Errorf("the host got %q", got)
				}
			})
		})
	}
}

func TestAServerThatIsNotForTheSession(t *testing.T) { // design D9, D14
	disabled := server(scope.Cwd)
	disabled.Disabled = true
	tests := []struct {
		name   string
		view   *config.Config
		reason string
	}{
		{"disabled", view(disabled), "disabled"},
		{"untrusted", &config.Config{Untrusted: []config.Untrusted{{Name: "srv", File: "/p/.mcpx.json"}}}, "untrusted: only /p/.mcpx.json names it"},
		{"invalid", &config.Config{Problems: config.Problems{{Server: "srv", Msg: "no command"}}}, `server "srv": no command`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, func(s *stage) { s.world.configure("", tt.view) }, func(s *stage) {
				s.greet(plain)
				s.sends(list(1, "tools"), list(2, "prompts"), list(3, "resources"), list(4, "resources/templates"))
				s.gets(result(1, `{"tools":[]}`), result(2, `{"prompts":[]}`), result(3, `{"resources":[]}`), result(4, `{"resourceTemplates":[]}`))
				for _, method := range []string{"tools/call", "prompts/get", "resources/read", "vendor/x"} {
					s.sends(`{"jsonrpc":"2.0","id":5,"method":"` + method + `","params":{"name":"a"}}`)
					s.refuses(5, wire.CodeInvalidParams, tt.reason)
				}
				if got := s.servers.started(); got != "" {
					t.Errorf("started %q", got)
				}
				if got := s.conn.Snapshot().Servers[0]; got.State != tt.name || got.Reason != tt.reason {
					t.Errorf("status: got %q, %q; want %q, %q", got.State, got.Reason, tt.name, tt.reason)
				}
				s.world.configure("", view(server(scope.Cwd))) // trusted, enabled, mended
				s.conn.Refresh()
				s.gets(changed("prompts"), changed("resources"), changed("tools"))
				s.sends(list(6, "tools"))
				s.gets(result(6, tools))
			})
		})
	}
}

func TestListChangedGoesToThoseWhoWereGivenWhatIsStale(t *testing.T) { // design D14
	def := server(scope.Cwd).Definition()
	kept := func(s *stage) { s.servers.keep(map[string]string{"tools/list": tools}) }
	t.Run("a kept list", func(t *testing.T) {
		play(t, kept, func(s *stage) {
			s.greet(plain)
			s.sends(list(1, "tools"))
			s.gets(result(1, tools))
			s.conn.ListsChanged("other", []string{"tools"})
			s.conn.ListsChanged(def, []string{"prompts"})
			s.gets()
			s.conn.ListsChanged(def, []string{"tools", "prompts"})
			s.gets(changed("tools"))
			s.conn.ListsChanged(def, []string{"tools"})
			s.gets() // it was told already
		})
	})
	t.Run("not one who has listed nothing", func(t *testing.T) {
		play(t, kept, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "a"))
			s.gets(by(1, "cwd:/desk"))
			s.conn.ListsChanged(def, []string{"tools"})
			s.gets()
		})
	})
	t.Run("not one whose list is of a server that still runs, since that tells by itself", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(list(1, "tools"))
			s.gets(result(1, tools))
			s.conn.ListsChanged(def, []string{"tools"})
			s.gets()
			s.servers.of("cwd:/desk").end()
			s.gets()
			s.conn.ListsChanged(def, []string{"tools"})
			s.gets(changed("tools"))
		})
	})
}

func TestAReloadReachesASession(t *testing.T) {
	listedAndCalled := func(s *stage) {
		s.greet(plain)
		s.sends(list(1, "tools"), call(2, "hold"))
		s.gets(result(1, tools))
	}
	t.Run("another definition is another instance, and calls on the old one end", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			listedAndCalled(s)
			old := s.servers.of("cwd:/desk")
			other := server(scope.Cwd)
			other.Args = []string{"-new"}
			s.world.configure("", view(other))
			s.conn.Refresh()
			s.gets(changed("tools"))
			s.sends(call(3, "a"))
			s.gets(by(3, "cwd:/desk"))
			if got := s.servers.started(); got != "cwd:/desk cwd:/desk" {
				t.Errorf("started %q, want two", got)
			}
			old.let()
			s.gets(by(2, "cwd:/desk"))
		})
	})
	t.Run("another filter is another list of the same instance", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			listedAndCalled(s)
			filtered := server(scope.Cwd)
			filtered.Tools = []string{"b"}
			s.world.configure("", view(filtered))
			s.conn.Refresh()
			s.gets(changed("tools"))
			s.sends(list(3, "tools"))
			s.gets(result(3, `{"tools":[{"name":"b"}]}`))
			if got := s.servers.started(); got != "cwd:/desk" {
				t.Errorf("started %q, want one", got)
			}
			s.servers.of("cwd:/desk").let()
			s.gets(by(2, "cwd:/desk"))
		})
	})
	t.Run("another limit changes nothing", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			listedAndCalled(s)
			wider := server(scope.Cwd)
			wider.Max, wider.CallTimeout = 9, time.Hour
			s.world.configure("", view(wider))
			s.conn.Refresh()
			s.gets()
			s.servers.of("cwd:/desk").let()
			s.gets(by(2, "cwd:/desk"))
		})
	})
	t.Run("a server that was taken away is refused at once", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			listedAndCalled(s)
			disabled := server(scope.Cwd)
			disabled.Disabled = true
			s.world.configure("", view(disabled))
			s.sends(call(3, "a"))
			got := s.got()
			if len(got) != 2 || got[0] != changed("tools") || problemOf(t, got[1]) != (problem{3, wire.CodeInvalidParams, "disabled"}) {
				t.Errorf("the host got %q", got)
			}
			s.sends(`{"jsonrpc":"2.0","method":"notifications/x"}`)
			srv := s.servers.of("cwd:/desk")
			if got, want := srv.methods(), "tools/list tools/call:hold"; got != want {
				t.Errorf("the server got %q, want %q", got, want)
			}
			srv.let()
			s.gets(by(2, "cwd:/desk"))
		})
	})
}

func TestListsThatTheServerLacksAreEmpty(t *testing.T) { // design D14
	play(t, func(s *stage) { s.hello.Cwd = "/home/u" }, func(s *stage) {
		s.greet(plain) // a superset, which promises prompts
		s.sends(list(1, "prompts"), list(2, "tools"))
		s.gets(result(1, `{"prompts":[]}`), result(2, tools))
	})
}

func TestAKeptListWithACursorIsTheServersToAnswer(t *testing.T) {
	play(t, func(s *stage) { s.servers.keep(map[string]string{"tools/list": `{"tools":[]}`}) }, func(s *stage) {
		s.greet(plain)
		s.sends(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}`)
		s.gets(result(1, tools))
	})
}
