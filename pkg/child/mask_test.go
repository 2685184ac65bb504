package child

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

func TestMaskKnowsWhatMustNotBeShown(t *testing.T) {
	tests := []struct {
		name    string
		env     []string
		secrets map[string]string
		want    mask
	}{
		{"a secret under any name", nil, map[string]string{"X": canary}, mask{canary}},
		{"a variable named like a secret", []string{"API_KEY=hunter22"}, nil, mask{"hunter22"}},
		{"a value made like a token", []string{"X=ghp_0123456789abcdef"}, nil, mask{"ghp_0123456789abcdef"}},
		{"nothing that everybody may know", []string{"HOME=/home/me", "TOKEN_FILE=/run/token", "PWD=/srv/app", "USE_TOKEN=true"}, nil, nil},
		{"nothing too short to be told from other text", []string{"TOKEN=abc"}, map[string]string{"X": "xyz"}, nil},
		{"each line of a key, since stderr comes in lines", nil, map[string]string{"X": "-----BEGIN KEY-----\r\n  MIIEvQ\n==\n"}, mask{"-----BEGIN KEY-----", "MIIEvQ"}},
		{"the longest first, and each once", []string{"A_TOKEN=hunter22"}, map[string]string{"A": "hunter22", "B": "hunter22-and-more"}, mask{"hunter22-and-more", "hunter22"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, newMask(tt.env, tt.secrets)); diff != "" {
				t.Errorf("mask (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMaskHides(t *testing.T) {
	m := mask{"hunter22-and-more", "hunter22"}
	tests := []struct {
		name, text  string
		goesOn      bool
		shown, rest string
	}{
		{"nothing of what is harmless", "hunter says 22", false, "hunter says 22", ""},
		{"every occurrence", "a hunter22 b=hunter22\n", false, "a ••• b=•••\n", ""},
		{"the longest value there", "hunter22-and-more!", false, "•••!", ""},
		{"a value that only begins like a longer one", "hunter22-and-less", false, "•••-and-less", ""},
		{"what may go on as a value, by keeping it back", "a hunt", true, "a ", "hunt"},
		{"a value that may go on as a longer one, by keeping it back", "a hunter22-and", true, "a ", "hunter22-and"},
		{"a value that cannot go on", "a hunter22 b", true, "a ••• b", ""},
		{"the end of a line that breaks off", "a hunt", false, "a hunt", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shown, rest := m.hide([]byte(tt.text), tt.goesOn)
			if diff := cmp.Diff([]string{tt.shown, tt.rest}, []string{shown, string(rest)}); diff != "" {
				t.Errorf("shown and rest (-want +got):\n%s", diff)
			}
		})
	}
}

// What a server says of the secrets it was given reaches nobody, wherever a line
// is cut (threat T28).
func TestStderrShowsNoSecret(t *testing.T) {
	p := plan("say")
	p.Secrets = map[string]config.Secret{"S1": {Command: []string{"printf", canary}}}
	p.Env["GIVEN_TOKEN"] = "hunter22"
	for before := lineBytes - 2*len(canary); before < lineBytes+2; before++ {
		p.Args = append(p.Args, strings.Repeat("x", before)+"$S1\n")
	}
	p.Args = append(p.Args, "my tokens are $S1 and $GIVEN_TOKEN\n", "last words: $S1")
	o := options(t)
	var lines []string
	o.OnStderr = func(line string) { lines = append(lines, line) }
	c := mustStart(t, p, o)
	<-c.Done()
	for i, line := range append(lines, c.StderrTail()...) {
		if strings.Contains(line, canary[:4]) || strings.Contains(line, canary[len(canary)-4:]) || strings.Contains(line, "hunter22") {
			t.Errorf("line %d shows %q", i, line[max(0, len(line)-100):])
		}
	}
	if got := c.Mask("bad token " + canary); got != "bad token •••" {
		t.Errorf("Mask: got %q", got)
	}
	want := []string{"my tokens are ••• and •••", "last words: •••"}
	if diff := cmp.Diff(want, c.StderrTail()[len(c.StderrTail())-2:]); diff != "" {
		t.Errorf("last words (-want +got):\n%s", diff)
	}
}
