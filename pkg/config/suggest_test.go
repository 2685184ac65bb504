package config

import (
	"reflect"
	"testing"

	"github.com/dezren39/mcpx/pkg/scope"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"command", "url", "scope", "idleTimeout"}
	for in, want := range map[string]string{
		"commnad":    "command", // two letters swapped count once
		"comand":     "command",
		"Command":    "command",
		"ulr":        "url",
		"idletimout": "idleTimeout",
		"icon":       "",
		"type":       "",
		"u":          "",
		"":           "",
		"commandant": "",
	} {
		if got := DidYouMean(in, known); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDidYouMeanAScope(t *testing.T) {
	scopes := allowed(reflect.TypeFor[scope.Scope]())
	for in, want := range map[string]string{
		"worktre":                   "worktree",
		"Repo":                      "repo",
		"parent_session":            "parent-session",
		"machine":                   "",
		"x":                         "",
		string(make([]byte, 1<<20)): "",
	} {
		if got := DidYouMean(in, scopes); got != want {
			t.Errorf("DidYouMean(%.20q) = %q, want %q", in, got, want)
		}
	}
}
