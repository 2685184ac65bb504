package config

import (
	"reflect"
	"slices"
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

func TestDidYouMeanACommand(t *testing.T) {
	commands := []string{"status", "stop", "explain", "config", "connect", "f"}
	for in, want := range map[string]string{
		"statsu": "status", "stat": "status", "explian": "explain", "confg": "config", "stopp": "stop",
		"frobnicate": "", "": "", "x": "",
	} {
		if got := DidYouMean(in, commands); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDidYouMeanInventsNothing(f *testing.F) {
	for _, w := range []string{"", "statsu", "\xff", "стоп"} {
		f.Add(w)
	}
	known := []string{"status", "stop", "explain", "f"}
	f.Fuzz(func(t *testing.T, word string) {
		if got := DidYouMean(word, known); got != "" && !slices.Contains(known, got) {
			t.Errorf("DidYouMean(%q) = %q, which is not known", word, got)
		}
	})
}
