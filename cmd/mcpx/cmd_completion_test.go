package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCandidatesFollowTheWords(t *testing.T) {
	root := newRoot(testProgram(nil))
	servers := func() []string { return []string{"gopls", "jira"} }
	tests := []struct {
		name  string
		words []string
		want  []string
	}{
		{"servers after connect", []string{"connect", ""}, []string{"gopls", "jira"}},
		{"nothing after the server", []string{"connect", "gopls", ""}, nil},
		{"servers after tools", []string{"tools", ""}, []string{"gopls", "jira"}},
		{"servers after call", []string{"call", ""}, []string{"gopls", "jira"}},
		{"no servers where the tool stands", []string{"call", "gopls", ""}, nil},
		{"flags after a dash", []string{"status", "--"}, []string{"--json", "--runtime-dir"}},
		{"no hidden flag", []string{"daemon", "--"}, []string{"--config", "--runtime-dir"}},
		{"shells", []string{"completion", ""}, []string{"bash", "fish", "zsh"}},
		{"what can be done to roots", []string{"roots", ""}, []string{"list", "add", "remove", "set", "reset"}},
		{"servers to be shown", []string{"sessions", "allow", "gopls", ""}, []string{"gopls", "jira"}},
		{"none after reset", []string{"sessions", "reset", ""}, nil},
		{"no servers where the directory stands", []string{"rules", "set", ""}, nil},
		{"servers of a rule", []string{"rules", "set", "~/src", ""}, []string{"all", "none", "gopls", "jira"}},
		{"nothing after an unknown command", []string{"frob", ""}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, candidates(root, tt.words, servers)); diff != "" {
				t.Errorf("candidates(%q) (-want +got):\n%s", tt.words, diff)
			}
		})
	}
}
