// Package rig runs the built mcpx for tests: a private home, a private runtime
// directory, real `mcpx connect` processes driven line by line as a host would.
// What a test starts with it is gone when the test ends.
package rig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Rig is one user's machine.
type Rig struct {
	T    testing.TB
	Bin  string // mcpx
	Home string
	Run  string // runtime directory
	Env  []string
}

// Build builds the programs at the given package paths into dir and returns
// where they are, in order.
func Build(dir string, pkgs ...string) ([]string, error) {
	bins := make([]string, len(pkgs))
	for i, pkg := range pkgs {
		bins[i] = filepath.Join(dir, filepath.Base(pkg))
		args := []string{"build", "-o", bins[i]}
		if os.Getenv("MCPX_RACE") != "" { // the programs under test too; each start costs ten times as much
			args = append(args, "-race")
		}
		cmd := exec.Command("go", append(args, pkg)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, err
		}
	}
	return bins, nil
}

// Main builds programs, hands them over in a directory that lives as long as the
// tests do, and runs those. It is for TestMain and returns the exit code.
func Main(m *testing.M, built func(dir string, bins []string) error, pkgs ...string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "built")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	bins, err := Build(dir, pkgs...)
	if err != nil {
		return fail(err)
	}
	if err := built(dir, bins); err != nil {
		return fail(err)
	}
	return m.Run()
}

// New makes a machine with this user config and no daemon yet. It stops the
// daemon and checks that nothing is left when the test ends.
func New(t testing.TB, bin, config string) *Rig {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "mx") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	r := &Rig{T: t, Bin: bin, Home: home, Run: filepath.Join(short, "r")}
	r.Env = append(clean(os.Environ()), "HOME="+home, "MCPX_RUNTIME_DIR="+r.Run)
	r.Write(filepath.Join(home, ".config/mcpx/config.json"), config)
	t.Cleanup(func() { r.end(short) })
	return r
}

// end stops the daemon, which must leave no child behind.
func (r *Rig) end(short string) {
	children := r.children()
	if out, err := r.Command("stop").CombinedOutput(); err != nil {
		r.T.Errorf("mcpx stop: %v\n%s", err, out)
	}
	for _, pid := range children {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			r.T.Errorf("process %d outlives the daemon: %v", pid, err)
		}
	}
	log, _ := os.ReadFile(filepath.Join(r.Home, ".local/state/mcpx/daemon.log")) // there is none if no daemon was started
	for _, bad := range []string{"DATA RACE", "panic: ", "goroutine 1 "} {
		if bytes.Contains(log, []byte(bad)) {
			r.T.Errorf("daemon.log has %q", bad)
		}
	}
	if r.T.Failed() {
		r.T.Logf("daemon.log:\n%s", log)
	}
	if err := os.RemoveAll(short); err != nil {
		r.T.Error(err)
	}
}

// clean drops what would tell mcpx about the host that runs the tests.
func clean(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "CLAUDE"), strings.HasPrefix(name, "MCPX_"), strings.HasPrefix(name, "XDG_"),
			strings.HasPrefix(name, "GIT_"), name == "HOME", name == "WORKSPACE_FOLDER_PATHS", name == "AI_AGENT":
			continue
		}
		out = append(out, kv)
	}
	return out
}

// Write writes a file, its directories first.
func (r *Rig) Write(path, content string) {
	r.T.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.T.Fatal(err)
	}
}

// Command is an mcpx command of this user, in the home directory.
func (r *Rig) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.Bin, args...)
	cmd.Env, cmd.Dir = r.Env, r.Home
	return cmd
}

// Mcpx runs a command that must succeed and returns its stdout.
func (r *Rig) Mcpx(args ...string) string {
	r.T.Helper()
	cmd := r.Command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.T.Fatalf("mcpx %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// Checkouts makes a repository with a linked worktree beside it.
func (r *Rig) Checkouts() (main, linked string) {
	r.T.Helper()
	main, linked = filepath.Join(r.Home, "main"), filepath.Join(r.Home, "linked")
	r.Write(filepath.Join(main, "sub", "file"), "")
	r.Git(main, "init", "-q")
	r.Git(main, "add", ".")
	r.Git(main, "commit", "-qm", "start")
	r.Git(main, "worktree", "add", "-q", "-b", "linked", linked)
	return main, linked
}

// Log is what the daemon has logged so far.
func (r *Rig) Log() string {
	r.T.Helper()
	b, err := os.ReadFile(filepath.Join(r.Home, ".local/state/mcpx/daemon.log"))
	if err != nil {
		r.T.Fatal(err)
	}
	return string(b)
}

// Git runs git in dir, untouched by the caller's configuration.
func (r *Rig) Git(dir string, args ...string) {
	r.T.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(clean(os.Environ()), "HOME="+r.Home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
