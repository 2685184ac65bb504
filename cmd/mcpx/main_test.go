package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dezren39/mcpx/checks/fakemcp/fake"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcpx":    main,
		"fakemcp": func() { os.Exit(fake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// golden compares got with a file under testdata; UPDATE=1 rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// testProgram is a program in an environment of its own, which is empty.
func testProgram(env map[string]string) *program {
	return &program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, argv0: "mcpx",
		getenv: func(name string) string { return env[name] },
	}
}

func TestHelpIsAsReviewed(t *testing.T) {
	root := newRoot(testProgram(nil))
	topics := []string{"mcpx"}
	for _, c := range root.Commands {
		if !c.Hidden {
			topics = append(topics, c.Name)
		}
	}
	for _, topic := range topics {
		t.Run(topic, func(t *testing.T) {
			args := []string{"mcpx", "help", topic}
			if topic == "mcpx" {
				args = args[:2]
			}
			root := newRoot(testProgram(nil))
			var out bytes.Buffer
			root.Writer = &out
			if err := root.Run(t.Context(), args); err != nil {
				t.Fatal(err)
			}
			golden(t, "help/"+topic+".txt", out.Bytes())
		})
	}
}

func TestEveryCommandHasAnExampleAndFitsTheLine(t *testing.T) {
	root := newRoot(testProgram(nil))
	for _, c := range root.Commands {
		if c.Hidden {
			continue
		}
		if c.Description == "" || c.Category == "" {
			t.Errorf("%s has no example or no group", c.Name)
		}
	}
	for _, line := range bytes.Split([]byte(rootHelp(root)), []byte("\n")) {
		if len(line) > width {
			t.Errorf("help line is longer than %d: %s", width, line)
		}
	}
}
