package spawn

import (
	"reflect"
	"testing"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

func full() Plan {
	return Plan{
		Server: "s", Key: "k", Root: "/r", Command: "c", Args: []string{"a", "b"}, Env: map[string]string{"A": "1", "B": "2"},
		EnvPolicy: config.Inherit, Secrets: map[string]config.Secret{"T": {Command: []string{"pass", "t"}}},
		Dir: "/r", DirSource: DirFromScope, URL: "u", Headers: map[string]string{"H": "1"}, Protocol: config.Auto,
		Workspace: Workspace{Root: "/r", Roots: true},
	}
}

// TestIdentityCoversTheEffectiveDefinition changes one field at a time. A field
// that is added to Plan must be decided here.
func TestIdentityCoversTheEffectiveDefinition(t *testing.T) {
	changes := map[string]func(*Plan){
		"Server":    func(p *Plan) { p.Server = "x" },
		"Root":      func(p *Plan) { p.Root = "/x" },
		"Command":   func(p *Plan) { p.Command = "x" },
		"Args":      func(p *Plan) { p.Args = []string{"b", "a"} },
		"Env":       func(p *Plan) { p.Env["A"] = "x" },
		"EnvPolicy": func(p *Plan) { p.EnvPolicy = config.Clean },
		"Secrets":   func(p *Plan) { p.Secrets["T"] = config.Secret{File: "t"} },
		"Dir":       func(p *Plan) { p.Dir = "/x" },
		"URL":       func(p *Plan) { p.URL = "x" },
		"Headers":   func(p *Plan) { p.Headers["H"] = "x" },
		"Protocol":  func(p *Plan) { p.Protocol = config.Legacy },
		"Workspace": func(p *Plan) { p.Workspace.Roots = false },
	}
	same := map[string]func(*Plan){
		"Key":       func(p *Plan) { p.Key = "x" },
		"DirSource": func(p *Plan) { p.DirSource = DirFromConfig },
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Plan]()) {
		p := full()
		change, counts := changes[f.Name]
		if !counts {
			if change, counts = same[f.Name], false; change == nil {
				t.Errorf("nobody decided whether %s belongs to the identity", f.Name)
				continue
			}
		}
		change(&p)
		if differs := p.Identity() != full().Identity(); differs != counts {
			t.Errorf("%s: another value gives another identity: got %v, want %v", f.Name, differs, counts)
		}
	}
}

func TestIdentityFieldsNeverRunTogether(t *testing.T) {
	seen := map[Identity]string{}
	for name, p := range map[string]Plan{
		"two arguments":             {Args: []string{"a", "b"}},
		"one argument":              {Args: []string{"ab"}},
		"an argument with a space":  {Args: []string{"a b"}},
		"an empty argument behind":  {Args: []string{"ab", ""}},
		"an empty argument before":  {Args: []string{"", "ab"}},
		"a name that takes a value": {Env: map[string]string{"ab": ""}},
		"a name and its value":      {Env: map[string]string{"a": "b"}},
		"a header":                  {Headers: map[string]string{"a": "b"}},
		"a command":                 {Command: "ab"},
		"a directory":               {Dir: "ab"},
		"a URL":                     {URL: "ab"},
		"a secret's file":           {Secrets: map[string]config.Secret{"a": {File: "b"}}},
		"a secret's command":        {Secrets: map[string]config.Secret{"a": {Command: []string{"b"}}}},
		"bytes that are no text":    {Dir: "a\xff"},
		"other bytes that are none": {Dir: "a\xfe"},
	} {
		id := p.Identity()
		if other, taken := seen[id]; taken {
			t.Errorf("%s and %s share an identity", name, other)
		}
		seen[id] = name
	}
}

// TestIdentityOfTwoRoots is the rule of record 0004 §4: two instances of one
// server that differ only by root never share an era record, however the root
// reaches the server.
func TestIdentityOfTwoRoots(t *testing.T) {
	main := scope.ResolvedScope{Key: "worktree:/a", Root: "/a"}
	linked := scope.ResolvedScope{Key: "worktree:/b", Root: "/b"}
	for name, s := range map[string]config.Resolved{
		"by spawn directory":                 gopls(scope.Worktree, ""),
		"by an argument":                     {Name: "s", Command: "s", Scope: scope.Worktree, Args: []string{"${mcpx.root}"}},
		"only by what it is told":            gopls(scope.Worktree, "/etc"),
		"over HTTP":                          {Name: "s", URL: "https://x", Scope: scope.Worktree},
		"by environment, with a fixed cwd":   {Name: "s", Command: "s", Cwd: "/", Env: map[string]string{"R": "${mcpx.root}"}},
		"not at all, and still in two roots": {Name: "s", Command: "s", Cwd: "/", Scope: scope.Worktree},
	} {
		a, err := NewPlan(s, main, inWorktree, home)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewPlan(s, linked, inWorktree, home)
		if err != nil {
			t.Fatal(err)
		}
		if a.Identity() == b.Identity() {
			t.Errorf("%s: two roots share an identity", name)
		}
		again, err := NewPlan(s, main, inWorktree, home)
		if err != nil || again.Identity() != a.Identity() {
			t.Errorf("%s: one root has two identities, %v", name, err)
		}
	}
}

func TestIdentityIsSharedByTheSessionsOfOneDefinition(t *testing.T) {
	s := gopls(scope.Session, "")
	a, err := plan(s, scope.CallContext{Session: "1", Cwd: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := plan(s, scope.CallContext{Session: "2", Cwd: "/y"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Key == b.Key || a.Identity() != b.Identity() {
		t.Errorf("keys %q and %q, identities equal %v; want two keys and one identity", a.Key, b.Key, a.Identity() == b.Identity())
	}
}
