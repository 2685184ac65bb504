package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/socket"
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
			if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
				return err
			}
			// A config says "../../bin/mcpx" for this program, or "../../bin/fakemcp".
			self, err := os.Executable()
			if err != nil {
				return err
			}
			for _, name := range []string{"mcpx", "fakemcp"} {
				if err := os.Symlink(self, filepath.Join(home, "bin", name)); err != nil {
					return err
				}
			}
			env.Setenv("HOME", home)
			env.Setenv("MCPX_RUNTIME_DIR", run)
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // each command would wait a second for reports
			env.Defer(func() { stopDaemons(t, env.WorkDir) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"masked": cmdMasked,
			"code":   cmdCode,
			"until":  cmdUntil,
			"answer": cmdAnswer,
			"stale":  cmdStale,
			"empty":  cmdEmpty,
			"commit": cmdCommit,
			"expand": cmdExpand,
		},
	})
}

// stopDaemons ends what a script has started, wherever it put the sockets.
func stopDaemons(t *testing.T, workDir string) {
	sockets, err := filepath.Glob(filepath.Join(workDir, "*", socket.Control))
	if err != nil {
		t.Error(err)
	}
	for _, s := range sockets {
		client, err := api.Open(filepath.Dir(s))
		if errors.Is(err, socket.ErrNoDaemon) {
			continue // a stale socket
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if err := client.Stop(t.Context()); err != nil && !errors.Is(err, socket.ErrNoDaemon) {
			t.Errorf("stopping the script's daemon: %v", err)
		}
		client.Close()
	}
}

// cmdMasked rewrites a file in place, so that whole messages can be compared:
// the work directory becomes $WORK, the user $UID, and what else varies is named.
//
//	masked FILE [TEXT NAME]...
func cmdMasked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 1 {
		ts.Fatalf("usage: masked FILE [TEXT NAME]...")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "$WORK")
	text = strings.ReplaceAll(text, "owner uid "+strconv.Itoa(os.Getuid())+",", "owner uid $UID,")
	for i := 1; i < len(args); i += 2 {
		text = strings.ReplaceAll(text, args[i], args[i+1])
	}
	name := args[0]
	if name == "stdout" || name == "stderr" {
		name += ".txt"
	}
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
}

// cmdAnswer writes the last command's answer to one request, so that answers can
// be compared whatever order they came in.
//
//	answer ID FILE
func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answer ID FILE")
	}
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err == nil && m.Method == "" && string(m.ID) == args[0] {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(line), 0o600))
			return
		}
	}
	ts.Fatalf("no answer to %s", args[0])
}

// cmdStale leaves a socket that nobody listens on, as a killed daemon does.
//
//	stale SOCKET
func cmdStale(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stale SOCKET")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: ts.MkAbs(args[0]), Net: "unix"})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
}

// cmdEmpty fails for a directory that holds anything.
//
//	empty DIR
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s is left in %s", e.Name(), args[0])
	}
}

// cmdUntil runs a program again and again until its output no longer matches.
//
//	until REGEXP PROGRAM [ARG]...
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP PROGRAM [ARG]...")
	}
	still := regexp.MustCompile(args[0])
	for began := time.Now(); time.Since(began) < 30*time.Second; {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if !still.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("the output still matches %s", args[0])
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
