package main

import (
	"regexp"
	"testing"
)

func TestStatusLineHoldsNoCommand(t *testing.T) { // threat T27
	safe := regexp.MustCompile(`^MCP [A-Za-z0-9 ._:+*/!•-]*$`)
	for badge, want := range map[string]string{
		"all": "MCP all", "none*": "MCP none*", "atlassian +1": "MCP atlassian +1", "jira!": "MCP jira!", "a•": "MCP a•", "rules: a": "MCP rules: a",
		"$(rm -rf)`x`#(y)%{z}\x1b[2J\n\u202e'\"\\;|&<>": "MCP rm -rfxyz2J",
	} {
		got := statusLine(badge, true)
		if got != want || !safe.MatchString(got) {
			t.Errorf("%q: got %q, want %q", badge, got, want)
		}
	}
	if got := statusLine("a*•", false); got != "MCP a*." {
		t.Errorf("where the locale has no more than ASCII: %q", got)
	}
}

func BenchmarkStatusLine(b *testing.B) {
	for b.Loop() {
		statusLine("atlassian +12*!", true)
	}
}
