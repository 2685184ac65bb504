package config

import (
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/scope"
)

func sample() *Resolved {
	return &Resolved{
		Name: "a", Command: "bin/x", Args: []string{"-v"}, Env: map[string]string{"A": "b"}, Cwd: "c",
		URL: "https://u", Headers: map[string]string{"H": "v"}, Secrets: map[string]Secret{"S": {File: "f"}},
		Tier: User, Dir: "/d", Scope: scope.Repo, Sharing: Shared, Max: 4, Protocol: Auto, Roots: true,
		ServerRequests: RequestsAuto, EnvPolicy: Inherit,
	}
}

func TestDefinitionChangesWithWhatIsSpawned(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Resolved)
	}{
		{"name", func(r *Resolved) { r.Name = "b" }},
		{"command", func(r *Resolved) { r.Command = "bin/y" }},
		{"an argument split in two", func(r *Resolved) { r.Args = []string{"-", "v"} }},
		{"env", func(r *Resolved) { r.Env = map[string]string{"A": "c"} }},
		{"env moved to headers", func(r *Resolved) { r.Env, r.Headers = r.Headers, r.Env }},
		{"cwd", func(r *Resolved) { r.Cwd = "d" }},
		{"url", func(r *Resolved) { r.URL = "https://v" }},
		{"headers", func(r *Resolved) { r.Headers = nil }},
		{"a secret's reference", func(r *Resolved) { r.Secrets = map[string]Secret{"S": {Command: []string{"f"}}} }},
		{"a project file instead of the user's", func(r *Resolved) { r.Tier = Project }},
		{"the directory of a relative command", func(r *Resolved) { r.Dir = "/e" }},
		{"scope", func(r *Resolved) { r.Scope = scope.Worktree }},
		{"sharing", func(r *Resolved) { r.Sharing = Exclusive }},
		{"protocol", func(r *Resolved) { r.Protocol = Modern }},
		{"roots", func(r *Resolved) { r.Roots = false }},
		{"serverRequests", func(r *Resolved) { r.ServerRequests = RequestsRefuse }},
		{"envPolicy", func(r *Resolved) { r.EnvPolicy = Clean }},
	}
	seen := map[Definition]string{sample().Definition(): "the sample"}
	for _, tt := range tests {
		r := sample()
		tt.change(r)
		def := r.Definition()
		if same, ok := seen[def]; ok {
			t.Errorf("%s: the definition is that of %s", tt.name, same)
		}
		seen[def] = tt.name
	}
}

func TestDefinitionIgnoresWhatRestartsNothing(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Resolved)
	}{
		{"limits and timeouts", func(r *Resolved) { r.Max, r.IdleTimeout, r.StartTimeout, r.CallTimeout = 9, 1, 2, 3 }},
		{"tool filters", func(r *Resolved) { r.Tools, r.ExcludeTools = []string{"a"}, []string{"b"} }},
		{"switch and description", func(r *Resolved) { r.Disabled, r.Description = true, "d" }},
		{"the kind of the user's own file", func(r *Resolved) { r.Tier = System }},
		{"where it was written", func(r *Resolved) { r.Origins = map[string]Origin{"command": {Line: 3}} }},
		{"an empty map for none", func(r *Resolved) { r.Headers = map[string]string{"H": "v"} }},
	}
	for _, tt := range tests {
		r := sample()
		tt.change(r)
		if r.Definition() != sample().Definition() {
			t.Errorf("%s: the definition changed", tt.name)
		}
	}
	elsewhere, here := sample(), sample()
	elsewhere.Command, here.Command, elsewhere.Dir = "x", "x", "/e"
	if elsewhere.Definition() != here.Definition() {
		t.Errorf("the directory of a command found on PATH: the definition changed")
	}
}

func TestDefinitionNamesTheServerAndNoSecret(t *testing.T) {
	r := sample()
	r.Env["TOKEN"] = "hunter2"
	if def := string(r.Definition()); !strings.HasPrefix(def, "a@") || strings.Contains(def, "hunter2") {
		t.Errorf("got %q, want a@ and a hash", def)
	}
}

func BenchmarkDefinition(b *testing.B) {
	r := sample()
	for b.Loop() {
		_ = r.Definition()
	}
}
