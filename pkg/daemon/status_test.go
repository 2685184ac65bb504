package daemon

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/visibility"
)

func TestStatusIsBuiltFromTheFacts(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	gopls := &config.Resolved{Name: "gopls", Scope: scope.Worktree}
	docs := &config.Resolved{Name: "docs", Scope: scope.Global}
	off := &config.Resolved{Name: "off", Scope: scope.Global, Disabled: true}
	own := &config.Config{
		Servers: map[string]*config.Resolved{"gopls": gopls, "docs": docs, "off": off}, Names: []string{"docs", "gopls", "off"},
		Files:    []string{"/home/you/.config/mcpx/config.json"},
		Problems: config.Problems{{File: "/home/you/.config/mcpx/config.json", Line: 3, Col: 5, Server: "docs", Field: "command", Msg: "odd", Hint: "mend it", Warning: true}},
	}
	up := api.InstanceStatus{ID: "1", Server: "gopls", Key: "worktree:/src/app", PID: 42, State: "connected", Tools: 8}
	upTold := up
	upTold.Display = "connected (8 tools)"
	conn := func(server, key string, r *config.Resolved) session.Snapshot {
		return session.Snapshot{
			Identity: session.Identity{Session: "s1", Host: proc.ID{PID: 7, Start: 1}},
			HostName: "claude-code", HostVersion: "2", Dir: "/src/app", Origin: roots.Native,
			Roots:    []roots.Root{{URI: "file:///src/app", Origin: roots.Native}},
			Decision: visibility.None().On(visibility.Disk{}).Decide([]string{"docs", "gopls"}, "/src/app", visibility.Override{}),
			View:     own, Since: at, Servers: []session.Seen{{Name: server, Key: key, Resolved: r}},
		}
	}
	hidden := conn("secret", "", nil)
	hidden.Servers[0].State = "untrusted"
	hidden.Servers[0].Reason = "untrusted: only /src/app/.mcpx.json names it"
	got := build(facts{
		version: "1.0", pid: 1, runtimeDir: "/run/mcpx", started: at, rss: 99, own: own, path: []string{"/usr/bin", "/bin"},
		instances: []api.InstanceStatus{up, {ID: "2", Server: "docs", Key: "global", State: "backing-off"}},
		conns:     []session.Snapshot{conn("gopls", "worktree:/src/app", gopls), conn("docs", "repo:/x", docs), hidden},
		kept: func(r *config.Resolved) (int, bool) {
			if r.Name != "docs" {
				return 0, false
			}
			return 2, true
		},
	})
	want := &api.Status{
		Daemon: api.DaemonStatus{
			Version: "1.0", PID: 1, RuntimeDir: "/run/mcpx", Config: own.Files, StartedAt: at, RSSBytes: 99, Path: []string{"/usr/bin", "/bin"},
			Children: 1, // the one that backs off has no process
		},
		Instances: []api.InstanceStatus{upTold, {
			ID: "2", Server: "docs", Key: "global", State: "backing-off", Dead: true,
			Display: "backing off (no reason given, until 00:00:00)",
		}},
		Sessions: []api.SessionStatus{{
			ID: "s1", Host: api.HostStatus{Name: "claude-code", Version: "2", PID: 7},
			Cwd: api.CwdStatus{Path: "/src/app", Origin: "roots"}, Roots: []api.RootStatus{{URI: "file:///src/app", Origin: "roots"}},
			Connections: 3, Since: at, Badge: "all", Visible: []string{"docs", "gopls"}, Hidden: []string{}, Missing: []string{},
			Servers: []api.SessionServer{
				{Name: "gopls", State: "connected (8 tools)", Tools: 8},
				{Name: "docs", State: "idle (list kept)", Tools: 2},
				{Name: "secret", State: "untrusted", Reason: "untrusted: only /src/app/.mcpx.json names it"},
			},
		}},
		Servers: []api.ServerStatus{
			{Name: "docs", Scope: "global", Tools: 2, Listed: true},
			{Name: "gopls", Scope: "worktree"},
			{Name: "off", Scope: "global", State: "disabled"},
		},
		Problems: []api.Problem{{Where: "/home/you/.config/mcpx/config.json:3:5", Server: "docs", Field: "command", Message: "odd", Hint: "mend it", Warning: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("build (-want +got):\n%s", diff)
	}
}

func TestAnEmptyStatusHasListsAndNoNulls(t *testing.T) {
	got := build(facts{own: &config.Config{}, kept: func(*config.Resolved) (int, bool) { return 0, false }})
	if got.Instances == nil || got.Sessions == nil || got.Servers == nil || got.Problems == nil || got.Daemon.Config == nil || got.Daemon.Path == nil {
		t.Errorf("a list is null: %+v", got)
	}
}

func TestAllowedButDead(t *testing.T) {
	on := func(name string) *config.Resolved { return &config.Resolved{Name: name, Scope: scope.Global} }
	view := &config.Config{Servers: map[string]*config.Resolved{"a": on("a"), "b": on("b"), "off": {Name: "off", Disabled: true}}, Names: []string{"a", "b", "off"}}
	failed := api.InstanceStatus{Server: "b", Key: "global", State: "failed", LastError: "exit status 1"}
	tests := []struct {
		name, rules string
		o           visibility.Override
		instances   []api.InstanceStatus
		badge       string
		states      map[string]string
	}{
		{"all is well", `{}`, visibility.Override{}, nil, "all", map[string]string{"a": "idle", "b": "idle"}},
		{"one that is allowed fails", `{}`, visibility.Override{}, []api.InstanceStatus{failed}, "all•", map[string]string{"a": "idle", "b": "failed (exit status 1)"}},
		{"one that is hidden fails", `{"default":["a"]}`, visibility.Override{}, []api.InstanceStatus{failed}, "a", map[string]string{"a": "idle"}},
		{"the rule names one that is off", `{"default":["a","off"]}`, visibility.Override{}, nil, "a•", map[string]string{"a": "idle"}},
		{"the rule names one that is not there", `{"default":["a","typo"]}`, visibility.Override{}, nil, "a!", map[string]string{"a": "idle", "typo": "unknown name in a rule"}},
		{"a switch, and one fails", `{}`, visibility.Override{Set: true, Names: []string{"b"}}, []api.InstanceStatus{failed}, "b*•", map[string]string{"b": "failed (exit status 1)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, _ := visibility.Parse("r", []byte(tt.rules))
			d := session.Decide(view, rules.On(visibility.Disk{}), "/x", tt.o)
			snap := session.Snapshot{Identity: session.Identity{Session: "s"}, View: view, Decision: d}
			for _, name := range d.Visible() {
				snap.Servers = append(snap.Servers, session.Seen{Name: name, Key: "global", Resolved: view.Servers[name]})
			}
			got := build(facts{own: view, instances: tt.instances, conns: []session.Snapshot{snap}, kept: func(*config.Resolved) (int, bool) { return 0, false }}).Sessions[0]
			states := map[string]string{}
			for _, s := range got.Servers {
				states[s.Name] = s.State
			}
			if diff := cmp.Diff(tt.states, states); diff != "" || got.Badge != tt.badge {
				t.Errorf("badge %s, want %s; states (-want +got):\n%s", got.Badge, tt.badge, diff)
			}
		})
	}
}
