package config

import "testing"

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
