package child

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// loaderless is our own program with its loader's name changed, "" where it has
// none.
func loaderless(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(string(data), "/ld-linux")
	if i < 0 {
		return ""
	}
	copy(data[i:], "/no-linux")
	return string(data)
}

// What a start refuses, Check refuses in the same words, and what it takes,
// Check takes.
func TestCheckFindsWhatStartFinds(t *testing.T) {
	top := t.TempDir()
	file := func(name, text string) string {
		program := install(t, top, name, 0o755)
		write(t, program, text)
		return program
	}
	private, exposed := top+"/private", file("exposed", "s")
	write(t, private, "s")
	secret := func(s config.Secret) func(*spawn.Plan) {
		return func(p *spawn.Plan) { p.Secrets = map[string]config.Secret{"T": s} }
	}
	command := func(program string) func(*spawn.Plan) {
		return func(p *spawn.Plan) { p.Command = program }
	}
	tests := []struct {
		name   string
		change func(*spawn.Plan)
		field  string // that is wrong
	}{
		{"a program", func(*spawn.Plan) {}, ""},
		{"a script", command(file("script", "#! /bin/sh\nexit\n")), ""},
		{"a script without a first line", command(file("plain", "exit\n")), "command"},
		{"an empty file", command(file("empty", "")), "command"},
		{"a broken program", command(file("broken", "\x7fELF"+strings.Repeat("\x00", 60))), "command"},
		{"a program without its loader", command(file("loaderless", loaderless(t))), "command"},
		{"a script for a directory", command(file("folder", "#!/usr\n")), "command"},
		{"a script with carriage returns", command(file("crlf", "#!/bin/sh\r\nexit\r\n")), "command"},
		{"a carriage return behind an argument", command(file("crlf2", "#!/bin/sh -e\r\nexit\r\n")), ""},
		{"a program that is missing", command("no-such-program"), "command"},
		{"a directory", func(p *spawn.Plan) { p.Dir, p.DirSource = top, spawn.DirFromConfig }, ""},
		{"a directory that is missing", func(p *spawn.Plan) { p.Dir, p.DirSource = top+"/none", spawn.DirFromConfig }, "cwd"},
		{"a secret", secret(config.Secret{File: private}), ""},
		{"a secret that is missing", secret(config.Secret{File: top + "/none"}), "mcpx.secrets.T"},
		{"a secret that others may read", secret(config.Secret{File: exposed}), "mcpx.secrets.T"},
		{"a secret's command", secret(config.Secret{Command: []string{"echo", "s"}}), ""},
		{"a secret's command that is missing", secret(config.Secret{Command: []string{"no-such-program"}}), "mcpx.secrets.T"},
		{"a secret's command that is no program", secret(config.Secret{Command: []string{top + "/plain"}}), "mcpx.secrets.T"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, o := plan("fakemcp"), options(t)
			tt.change(&p)
			c, want := Start(t.Context(), p, o)
			if want == nil {
				_ = c.Stop(t.Context())
			}
			_, got := Check(p, os.Environ(), o.Home)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Check (-Start +Check):\n%s", diff)
			}
			if q, _ := got.(config.Problem); q.Field != tt.field {
				t.Errorf("got %v, want a fault of %q", got, tt.field)
			}
		})
	}
}

func TestCheckRunsNothing(t *testing.T) {
	top := t.TempDir()
	program := install(t, top, "srv", 0o755)
	write(t, program, "#!/bin/sh\ntouch "+top+"/ran\n")
	p := plan("")
	p.Command = "srv"
	p.Env["PATH"] = top
	p.Secrets = map[string]config.Secret{"T": {Command: []string{program}}}
	if got, err := Check(p, nil, top); got != program || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, program)
	}
	if _, err := os.Stat(filepath.Join(top, "ran")); err == nil {
		t.Error("the program ran")
	}
}

func TestCheckLooksForWhatEnvRuns(t *testing.T) {
	program := install(t, t.TempDir(), "srv", 0o755)
	write(t, program, "#!/usr/bin/env -S A=1 no-such-interpreter -u\n")
	p := plan("")
	p.Command = program
	_, err := Check(p, []string{"PATH=/nowhere"}, "/")
	want := program + ` needs the interpreter no-such-interpreter: "no-such-interpreter" is not in any directory of the child's PATH: searched /nowhere`
	if q, _ := err.(config.Problem); q.Msg != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
