package spawn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

func TestNewPlanSubstitutes(t *testing.T) {
	s := config.Resolved{
		Name: "srv", Command: "srv", Scope: scope.Worktree, Roots: true, EnvPolicy: config.Clean, Protocol: config.Legacy,
		Args:    []string{"--root", "${mcpx.root}", "${mcpx.root}:${mcpx.cwd}", "${HOME}", "$mcpx.root"},
		Env:     map[string]string{"ROOT": "${mcpx.root}", "OTHER": "${env:HOME}"},
		Secrets: map[string]config.Secret{"TOKEN": {File: "/run/token"}},
	}
	hostile := scope.CallContext{
		Cwd: "/t/${mcpx.root}; rm -rf/x", CallID: "1",
		Git: scope.Git{CommonDir: "/t/$(touch X);'/.git", Worktree: "/t/$(touch X);'", MainWorktree: "/t/$(touch X);'"},
	}
	got, err := plan(s, hostile)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Server: "srv", Key: "worktree:/t/$(touch X);'", Root: "/t/$(touch X);'", Command: "srv",
		Args: []string{"--root", "/t/$(touch X);'", "/t/$(touch X);':/t/${mcpx.root}; rm -rf/x", "${HOME}", "$mcpx.root"},
		Env:  map[string]string{"ROOT": "/t/$(touch X);'", "OTHER": "${env:HOME}"}, EnvPolicy: config.Clean,
		Secrets: map[string]config.Secret{"TOKEN": {File: "/run/token"}},
		Dir:     "/t/$(touch X);'", DirSource: DirFromScope, Protocol: config.Legacy,
		Workspace: Workspace{Root: "/t/$(touch X);'", Roots: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NewPlan (-want +got):\n%s", diff)
	}
	got.Env["ROOT"], got.Args[0], got.Secrets["TOKEN"] = "", "", config.Secret{}
	if s.Env["ROOT"] != "${mcpx.root}" || s.Args[0] != "--root" || s.Secrets["TOKEN"].File == "" {
		t.Errorf("NewPlan gave its caller the config to write in: %+v", s)
	}
}

// TestNewPlanCommand is threat T2: the file that declares a command says where
// it lies, never the session's root.
func TestNewPlanCommand(t *testing.T) {
	tests := []struct{ name, command, dir, want string }{
		{"a name is looked up on PATH", "srv", "/etc/mcpx", "srv"},
		{"an absolute command stays", "/opt/srv", "/etc/mcpx", "/opt/srv"},
		{"a dot means the file's directory", "./srv", "/home/u/.config/mcpx", "/home/u/.config/mcpx/srv"},
		{"a slash means the file's directory", "bin/srv", "/etc/mcpx", "/etc/mcpx/bin/srv"},
		{"so does going up", "../srv", "/etc/mcpx", "/etc/srv"},
		{"a tilde is a name like others", "~/bin/srv", "/etc/mcpx", "/etc/mcpx/~/bin/srv"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := config.Resolved{Name: "srv", Command: tt.command, Dir: tt.dir, Scope: scope.Worktree}
			if p, err := plan(s, inWorktree); err != nil || p.Command != tt.want {
				t.Errorf("command: got %q, %v; want %q", p.Command, err, tt.want)
			}
		})
	}
	for command, want := range map[string]string{
		"":      `server "srv": command: is missing`,
		"./srv": `server "srv": command: "./srv" is relative, and no file says to what`,
	} {
		if _, err := plan(config.Resolved{Name: "srv", Command: command}, inWorktree); err == nil || err.Error() != want {
			t.Errorf("command %q: got %v, want %s", command, err, want)
		}
	}
}

func TestNewPlanRemote(t *testing.T) {
	s := config.Resolved{Name: "r", URL: "https://x/mcp", Headers: map[string]string{"A": "${b}"}, Scope: scope.Worktree}
	got, err := plan(s, inWorktree)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{Server: "r", Key: "worktree:/src/app", Root: "/src/app", URL: "https://x/mcp",
		Headers: map[string]string{"A": "${b}"}, Workspace: Workspace{Root: "/src/app"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NewPlan (-want +got):\n%s", diff)
	}
}

func TestWorkspaceBytes(t *testing.T) {
	tests := []struct {
		name, root, members, roots string
	}{
		{"a root is a URI and its base name", "/home/u/my repo/ä",
			`"rootUri":"file:///home/u/my%20repo/%C3%A4","workspaceFolders":[{"uri":"file:///home/u/my%20repo/%C3%A4","name":"ä"}]`,
			`{"roots":[{"uri":"file:///home/u/my%20repo/%C3%A4","name":"ä"}]}`},
		{"what JSON or a URI would read otherwise is escaped", `/a#b?"c`,
			`"rootUri":"file:///a%23b%3F%22c","workspaceFolders":[{"uri":"file:///a%23b%3F%22c","name":"a#b?\"c"}]`,
			`{"roots":[{"uri":"file:///a%23b%3F%22c","name":"a#b?\"c"}]}`},
		{"the root of the file system is called /", "/",
			`"rootUri":"file:///","workspaceFolders":[{"uri":"file:///","name":"/"}]`,
			`{"roots":[{"uri":"file:///","name":"/"}]}`},
		{"no root is no bytes", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Workspace{Root: tt.root}
			object := ""
			if tt.members != "" {
				object = "{" + tt.members + "}"
			}
			want := []string{tt.members, object, tt.roots}
			if diff := cmp.Diff(want, []string{string(w.Members()), string(w.Object()), string(w.RootsResult())}); diff != "" {
				t.Errorf("members, object, roots (-want +got):\n%s", diff)
			}
			if tt.root == "" && (w.Members() != nil || w.Object() != nil || w.RootsResult() != nil) {
				t.Error("no root gives bytes that are not nil")
			}
		})
	}
}
