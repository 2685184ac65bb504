package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/scope"
)

// file parses src for Merge; a syntax error is the test's.
func file(t *testing.T, path string, tier Tier, src string) *File {
	t.Helper()
	f, _ := Parse(path, tier, []byte(src))
	if f.Broken {
		t.Fatalf("%s: %v", path, f.Problems())
	}
	return f
}

func TestMergeFillsInWhatNobodySays(t *testing.T) {
	view := Merge(file(t, "/h/.mcpx.json", User, servers(`"a": {"command": "x"}`)))
	want := &Config{
		Servers: map[string]*Resolved{"a": {
			Name: "a", Command: "x", Tier: User, Dir: "/h",
			Scope: scope.Global, Sharing: Shared, Max: 4,
			IdleTimeout: 5 * time.Minute, StartTimeout: time.Minute, CallTimeout: 2 * time.Minute,
			Protocol: Auto, Roots: true, ServerRequests: RequestsAuto, EnvPolicy: Inherit,
			Origins: map[string]Origin{"": {"/h/.mcpx.json", 1, 17}, "command": {"/h/.mcpx.json", 1, 34}},
		}},
		Names: []string{"a"},
		Daemon: Daemon{
			MaxInstances: 64, MaxStarts: 4, StopGrace: 5 * time.Second, IdleExit: 10 * time.Minute,
			Approve: ApprovePerson, Rules: Rules{OnError: "open", ApplyToRunningSessions: true, LogDecisions: true},
		},
		Files: []string{"/h/.mcpx.json"},
	}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

func TestMergeTakesTheSpawnPartFromOneFile(t *testing.T) {
	far := file(t, "/h/user.json", User, servers(`"a": {"url": "https://a", "headers": {"Authorization": "T"}, "mcpx": {"secrets": {"X": {"file": "f"}}, "max": 2}}`))
	near := file(t, "/p/.mcpx.json", Project, servers(`"a": {"url": "https://b"}`))
	a := Merge(near, far).Servers["a"]
	if a.URL != "https://b" || a.Headers != nil || a.Secrets != nil || a.Tier != Project || a.Dir != "/p" {
		t.Errorf("got %+v, want the project's url and no credential of the user's", a)
	}
	if a.Max != 2 {
		t.Errorf("got max %d, want the user's 2: the mcpx block merges by key", a.Max)
	}
}

func TestMergeJoinsTheMcpxBlockKeyByKey(t *testing.T) {
	near := file(t, "/p/.mcpx.json", Project, servers(`"a": {"mcpx": {"scope": "worktree", "tools": []}}`))
	user := file(t, "/h/user.json", User, `{"mcpServers": {"a": {"command": "x", "mcpx": {"scope": "repo", "idleTimeout": "never", "tools": ["t"]}}},
		"defaults": {"max": 9, "callTimeout": "7s", "idleTimeout": "1s"}}`)
	system := file(t, "/etc/system.json", System, `{"defaults": {"max": 1, "sharing": "exclusive"}}`)
	a := Merge(near, user, system).Servers["a"]
	want := &Resolved{
		Name: "a", Command: "x", Tier: User, Dir: "/h",
		Scope: scope.Worktree, Sharing: Exclusive, Max: 9,
		IdleTimeout: 0, StartTimeout: time.Minute, CallTimeout: 7 * time.Second,
		Tools: []string{}, Protocol: Auto, Roots: true, ServerRequests: RequestsAuto, EnvPolicy: Inherit,
		Origins: map[string]Origin{
			"": {"/h/user.json", 1, 17}, "command": {"/h/user.json", 1, 34},
			"mcpx.scope": {"/p/.mcpx.json", 1, 41}, "mcpx.tools": {"/p/.mcpx.json", 1, 62},
			"mcpx.idleTimeout": {"/h/user.json", 1, 80}, "mcpx.max": {"/h/user.json", 2, 23},
			"mcpx.callTimeout": {"/h/user.json", 2, 41}, "mcpx.sharing": {"/etc/system.json", 1, 36},
		},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
}

func TestMergeNeverLetsAProjectLoosen(t *testing.T) {
	const loose = `"mcpx": {"envPolicy": "inherit", "serverRequests": "attribute", "roots": true}`
	const tight = `"mcpx": {"envPolicy": "clean", "serverRequests": "refuse", "roots": false}`
	type keys struct {
		EnvPolicy EnvPolicy
		Requests  ServerRequests
		Roots     bool
		Warnings  int
	}
	tests := []struct {
		name, project, user string
		want                keys
	}{
		{"its own program starts clean", `{"command": "x"}`, `{}`, keys{Clean, RequestsAuto, true, 0}},
		{"its own program stays clean", `{"command": "x", ` + loose + `}`, `{}`, keys{Clean, RequestsAuto, true, 2}},
		{"the user's program stays as tight as it was", `{` + loose + `}`, `{"command": "x", ` + tight + `}`, keys{Clean, RequestsRefuse, false, 3}},
		{"it may tighten the user's program", `{` + tight + `}`, `{"command": "x", ` + loose + `}`, keys{Clean, RequestsRefuse, false, 0}},
		{"the user may loosen a project's program by name", `{"command": "x"}`, `{` + loose + `}`, keys{Inherit, RequestsAttribute, true, 0}},
		{"what changes nothing is no loosening", `{` + loose + `}`, `{"command": "x", ` + loose + `}`, keys{Inherit, RequestsAttribute, true, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user := `{"defaults": {"envPolicy": "inherit"}}`
			if tt.user != "{}" {
				user = `{"defaults": {"envPolicy": "inherit"}, "mcpServers": {"a": ` + tt.user + `}}`
			}
			view := Merge(file(t, "/p/.mcpx.json", Project, servers(`"a": `+tt.project)), file(t, "/h/u.json", User, user))
			a := view.Servers["a"]
			if a == nil {
				t.Fatalf("server a was left out: %v", view.Problems)
			}
			got := keys{a.EnvPolicy, a.ServerRequests, a.Roots, len(view.Problems)}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s\n%s", diff, report(view.Problems))
			}
		})
	}
}

func TestMergeReportsWhatOnlyTheWholeTells(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"a root that the scope has not", servers(`"a": {"command": "x", "args": ["${mcpx.root}"]}`), `
warning: f.json:1:48: server "a": args[0]: needs ${mcpx.root}, and scope "global" has none
  set "mcpx": { "scope": "worktree" }, or write the path out
`},
		{"a caller's directory for many callers", servers(`"a": {"command": "x", "cwd": "${mcpx.cwd}", "mcpx": {"scope": "repo"}}`), `
warning: f.json:1:46: server "a": cwd: ${mcpx.cwd} is the directory of whoever comes first, and scope "repo" serves others too
  use ${mcpx.root}, or set "mcpx": { "scope": "cwd" }
`},
		{"a caller's directory for one caller", servers(`"a": {"command": "x", "cwd": "${mcpx.cwd}", "mcpx": {"scope": "session"}}`), ""},
		{"a relative cwd without a root", servers(`"a": {"command": "x", "cwd": "sub", "mcpx": {"scope": "pid"}}`), `
f.json:1:46: server "a": cwd: relative to a root, and scope "pid" has none
  write the path out from /, or set "mcpx": { "scope": "worktree" }
`},
		{"a relative cwd with a root", servers(`"a": {"command": "x", "cwd": "sub", "mcpx": {"scope": "cwd"}}`), ""},
		{"a launcher in the caller's checkout", servers(`"a": {"command": "npx", "args": ["-y", "srv"], "mcpx": {"scope": "worktree"}}`), `
warning: f.json:1:34: server "a": command: npx runs code of the checkout it starts in
  install the program and name it, or set "cwd" to a directory of your own
`},
		{"a launcher in a subdirectory of it", servers(`"a": {"command": "/usr/bin/python3", "args": ["-m", "srv"], "cwd": "${mcpx.root}/x", "mcpx": {"scope": "worktree"}}`), `
warning: f.json:1:34: server "a": command: python3 -m runs code of the checkout it starts in
  install the program and name it, or set "cwd" to a directory of your own
`},
		{"a launcher elsewhere", servers(`"a": {"command": "npx", "cwd": "/srv", "mcpx": {"scope": "worktree"}}, "b": {"command": "npx"}, "c": {"command": "npm", "args": ["install"], "mcpx": {"scope": "cwd"}}`), ""},
		{"an override of nothing", servers(`"a": {"mcpx": {"max": 1}}`), `
f.json:1:17: server "a": changes a server that no file defines
  add "command": "program" or "url": "https://…"
`},
		{"a switch for nothing", servers(`"a": {"mcpx": {"disabled": true}}, "b": {"disabled": true}`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			view := Merge(file(t, "f.json", User, tt.src))
			if diff := cmp.Diff(tt.want, prefixed(report(view.Problems))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if served := view.Servers["a"] != nil; served == view.Problems.HasErrors() && tt.name != "a switch for nothing" {
				t.Errorf("served %v with problems:\n%s", served, report(view.Problems))
			}
		})
	}
}

// prefixed puts a line break before a text, as the tables have it.
func prefixed(s string) string {
	if s == "" {
		return ""
	}
	return "\n" + s
}
