package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

func TestShellLineRunsWhatThePlanSays(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell on PATH")
	}
	dir := filepath.Join(t.TempDir(), "a dir; with 'quotes' $HOME")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "s 1")
	if err := os.WriteFile(secret, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := spawn.Plan{
		Command: "printenv", Args: []string{"PLAIN", "F", "C", "PWD"}, Dir: dir,
		Env:     map[string]string{"PLAIN": "a b'c$(d)\"e"},
		Secrets: map[string]config.Secret{"F": {File: secret}, "C": {Command: []string{"printf", "%s", "from command"}}},
	}
	out, err := exec.Command("sh", "-c", shellLine(p, "/home/you", true)).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a b'c$(d)\"e", "from file", "from command", dir, ""}
	if diff := cmp.Diff(want, strings.Split(string(out), "\n")); diff != "" {
		t.Errorf("the pasted line printed (-want +got):\n%s", diff)
	}
}

func TestShellLineHoldsNoValuesUnasked(t *testing.T) {
	p := spawn.Plan{Command: "x", Args: []string{"--token", "canary"}, Env: map[string]string{"A": "canary", "B.C": "canary"}}
	want := `cd /home/you && env A="${A:?is masked here: set it first}" B.C='•••' x --token '•••'`
	if got := shellLine(p, "/home/you", false); got != want {
		t.Errorf("shellLine = %s\nwant        %s", got, want)
	}
}
