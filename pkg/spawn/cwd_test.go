package spawn

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

const home = "/home/u"

var (
	inWorktree = scope.CallContext{
		Cwd: "/src/app/api", CallID: "1",
		Git: scope.Git{CommonDir: "/src/app/.git", Worktree: "/src/app", MainWorktree: "/src/app"},
	}
	outsideGit = scope.CallContext{Cwd: "/tmp/x", CallID: "2"}
	atHome     = scope.CallContext{Cwd: home, CallID: "3"}
	nowhere    = scope.CallContext{CallID: "4"}
	inBare     = scope.CallContext{Cwd: "/src/b.git", CallID: "5", Git: scope.Git{CommonDir: "/src/b.git"}}
)

// gopls is a server like the one the record is about.
func gopls(s scope.Scope, cwd string) config.Resolved {
	return config.Resolved{Name: "gopls", Command: "gopls", Args: []string{"mcp"}, Scope: s, Cwd: cwd, Roots: true}
}

func plan(s config.Resolved, cc scope.CallContext) (Plan, error) {
	return NewPlan(s, s.Scope.Resolve(cc), cc, home)
}

// TestSpawnCwdDecision is record 0004 §3 without a server: an explicit cwd, the
// scope's root, the daemon's own directory.
func TestSpawnCwdDecision(t *testing.T) {
	tests := []struct {
		name, cwd, root, want string
		source                DirSource
	}{
		{"an explicit cwd wins", "/etc", "/src/app", "/etc", DirFromConfig},
		{"without one the scope's root counts", "", "/src/app", "/src/app", DirFromScope},
		{"without both it is the daemon's own", "", "", "", DirFromDaemon},
		{"an explicit cwd needs no root", "/etc", "", "/etc", DirFromConfig},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, source := Dir(tt.cwd, tt.root); got != tt.want || source != tt.source {
				t.Errorf("Dir(%q, %q): got %q from %q, want %q from %q", tt.cwd, tt.root, got, source, tt.want, tt.source)
			}
		})
	}
}

// TestSpawnCwd goes the whole way from scope, caller and config to where the
// process starts and what it is told (record 0004 §3, §5, §9).
func TestSpawnCwd(t *testing.T) {
	type where struct {
		Dir       string
		DirSource DirSource
		Workspace string
	}
	tests := []struct {
		name string
		s    config.Resolved
		cc   scope.CallContext
		want where
	}{
		{"a worktree server starts at its top level", gopls(scope.Worktree, ""), inWorktree,
			where{"/src/app", DirFromScope, "/src/app"}},
		{"a cwd server starts where the caller is", gopls(scope.Cwd, ""), inWorktree,
			where{"/src/app/api", DirFromScope, "/src/app/api"}},
		{"an explicit cwd wins over the root, which is still told", gopls(scope.Repo, "/etc"), inWorktree,
			where{"/etc", DirFromConfig, "/src/app"}},
		{"a relative cwd is below the root", gopls(scope.Worktree, "cmd/../api"), inWorktree,
			where{"/src/app/api", DirFromConfig, "/src/app"}},
		{"a cwd may be made of the root", gopls(scope.Repo, "${mcpx.root}/api"), inWorktree,
			where{"/src/app/api", DirFromConfig, "/src/app"}},
		{"a cwd may be the caller's", gopls(scope.Global, "${mcpx.cwd}"), inWorktree,
			where{"/src/app/api", DirFromConfig, ""}},
		{"a tilde is a name like others", gopls(scope.Worktree, "~/x"), inWorktree,
			where{"/src/app/~/x", DirFromConfig, "/src/app"}},
		{"a degraded worktree starts in the degraded root", gopls(scope.Worktree, ""), outsideGit,
			where{"/tmp/x", DirFromScope, "/tmp/x"}},
		{"home is a place to start in, never one to offer", gopls(scope.Cwd, ""), atHome,
			where{home, DirFromScope, ""}},
		{"/ is a place to start in, never one to offer", gopls(scope.Cwd, ""), scope.CallContext{Cwd: "/"},
			where{"/", DirFromScope, ""}},
		{"a global server starts in the daemon's directory and is told nothing", gopls(scope.Global, ""), inWorktree,
			where{"", DirFromDaemon, ""}},
		{"no scope is global", gopls("", ""), inWorktree, where{"", DirFromDaemon, ""}},
		{"a session server starts in the daemon's directory", gopls(scope.Session, ""), inWorktree,
			where{"", DirFromDaemon, ""}},
		{"a scoped server without a root may have a cwd", gopls(scope.Worktree, "/etc"), nowhere,
			where{"/etc", DirFromConfig, ""}},
		{"a remote has no directory and is told its root", config.Resolved{Name: "r", URL: "https://x", Scope: scope.Repo},
			inWorktree, where{"", "", "/src/app"}},
		{"a remote without a root is told nothing", config.Resolved{Name: "r", URL: "https://x", Scope: scope.Repo},
			nowhere, where{"", "", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan(tt.s, tt.cc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, where{p.Dir, p.DirSource, p.Workspace.Root}); diff != "" {
				t.Errorf("NewPlan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpawnCwdRefuses(t *testing.T) {
	control := scope.CallContext{Cwd: "/src/a\nb", CallID: "6"}
	withArg := func(s scope.Scope, arg string) config.Resolved {
		r := gopls(s, "")
		r.Args = []string{"mcp", arg}
		return r
	}
	withEnv := gopls(scope.Global, "")
	withEnv.Env = map[string]string{"A": "${mcpx.cwd}", "B": "${mcpx.root}"}
	tests := []struct {
		name string
		s    config.Resolved
		cc   scope.CallContext
		want string
		hint string
	}{
		{"a worktree server of a caller without a directory", gopls(scope.Worktree, ""), nowhere,
			`server "gopls": cwd: scope "worktree" has no directory here: no working directory`,
			`start the host in a checkout, or set "cwd"`},
		{"a repo server without a main worktree", gopls(scope.Repo, ""), inBare,
			`server "gopls": cwd: scope "repo" has no directory here: no main worktree`,
			`start the host in a checkout, or set "cwd"`},
		{"a cwd made of a root that is not there", gopls(scope.Global, "${mcpx.root}"), inWorktree,
			`server "gopls": cwd: needs ${mcpx.root}, and scope "global" has none`,
			`set "mcpx": { "scope": "worktree" }, or write the path out`},
		{"an argument made of a root that is not there", withArg(scope.Session, "-root=${mcpx.root}"), inWorktree,
			`server "gopls": args[1]: needs ${mcpx.root}, and scope "session" has none`,
			`set "mcpx": { "scope": "worktree" }, or write the path out`},
		{"an environment value made of a root that is not there", withEnv, inWorktree,
			`server "gopls": env.B: needs ${mcpx.root}, and scope "global" has none`,
			`set "mcpx": { "scope": "worktree" }, or write the path out`},
		{"an argument made of a directory the caller has not", withArg(scope.Global, "${mcpx.cwd}"), nowhere,
			`server "gopls": args[1]: needs ${mcpx.cwd}, and the caller has no directory`,
			`start the host in a directory, or write the path out`},
		{"a relative cwd without a root", gopls(scope.Global, "sub"), inWorktree,
			`server "gopls": cwd: "sub" is relative, and scope "global" has no root here`,
			`set "mcpx": { "scope": "worktree" }, or write the path out`},
		{"a root with a line end", gopls(scope.Cwd, ""), control,
			`server "gopls": root: "/src/a\nb" holds the control character "\n"`, "rename the directory"},
		{"a caller's directory with a line end in an argument", withArg(scope.Global, "${mcpx.cwd}"), control,
			`server "gopls": args[1]: "/src/a\nb" holds the control character "\n"`, "rename the directory"},
		{"a placeholder that slipped through", withArg(scope.Worktree, "${mcpx.rot}"), inWorktree,
			`server "gopls": args[1]: unknown placeholder ${mcpx.rot}`, "did you mean ${mcpx.root}?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan(tt.s, tt.cc)
			e, is := errors.AsType[*Error](err)
			if !is {
				t.Fatalf("NewPlan: got %+v, %v; want an *Error", p, err)
			}
			if diff := cmp.Diff([]string{tt.want, tt.hint}, []string{e.Error(), e.Hint()}); diff != "" {
				t.Errorf("NewPlan (-want +got):\n%s", diff)
			}
		})
	}
}
