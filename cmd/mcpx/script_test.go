package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dezren39/mcpx/pkg/api"
)

// TestScripts runs the program as its users do. Each script has a home and a
// runtime directory of its own, and no daemon survives it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			home, run := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, "run")
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("MCPX_RUNTIME_DIR", run)
			env.Setenv("LANG", "C.UTF-8")
			env.Defer(func() { stopDaemon(t, run) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"masked": cmdMasked,
			"code":   cmdCode,
		},
	})
}

// stopDaemon ends what a script has started.
func stopDaemon(t *testing.T, runtimeDir string) {
	client, err := api.Open(runtimeDir)
	if err != nil {
		return // none runs, or the script made a directory that none could run in
	}
	defer client.Close()
	if err := client.Stop(t.Context()); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Errorf("stopping the script's daemon: %v", err)
	}
}

// cmdMasked rewrites a file in place, so that whole messages can be compared:
// the work directory becomes $WORK and what varies from run to run is named.
//
//	masked FILE [TEXT NAME]...
func cmdMasked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 1 {
		ts.Fatalf("usage: masked FILE [TEXT NAME]...")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "$WORK")
	for i := 1; i < len(args); i += 2 {
		text = strings.ReplaceAll(text, args[i], args[i+1])
	}
	name := args[0]
	if name == "stdout" || name == "stderr" {
		name += ".txt"
	}
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
}

// cmdCode runs a program that must end with that exit code.
//
//	code N PROGRAM [ARG]...
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM [ARG]...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if want := args[0]; strconv.Itoa(got) != want {
		ts.Fatalf("exit code %d, want %s", got, want)
	}
}
