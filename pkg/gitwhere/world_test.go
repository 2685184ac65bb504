package gitwhere

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/scope"
)

// world is a directory of repositories made by the real git, which runs with
// nothing of this machine's configuration.
type world struct {
	t   *testing.T
	top string
	git string
	env []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	top, err := canon.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, top: top}
	w.git, err = exec.LookPath("git")
	if err != nil {
		t.Skip("needs git to make real repositories:", err)
	}
	w.mkdir("home")
	w.env = append(withoutGit(os.Environ()), "HOME="+top+"/home", "GIT_CONFIG_GLOBAL="+top+"/home/none",
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	return w
}

// in is a path of the world; "" stays "".
func (w *world) in(p string) string {
	if p == "" {
		return ""
	}
	return w.top + "/" + p
}

func (w *world) mkdir(p string) string {
	w.t.Helper()
	if err := os.MkdirAll(w.in(p), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return w.in(p)
}

// write makes a file, in which %TOP% is the world's own directory.
func (w *world) write(p, text string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(p))
	text = strings.ReplaceAll(text, "%TOP%", w.top)
	if err := os.WriteFile(w.in(p), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(w.in(from), w.in(to)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) symlink(target, p string) {
	w.t.Helper()
	if err := os.Symlink(target, w.in(p)); err != nil {
		w.t.Fatal(err)
	}
}

// run runs git in a directory of the world and wants it to succeed.
func (w *world) run(dir string, args ...string) {
	w.t.Helper()
	if out, err := w.ask(dir, args...); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// ask is what git prints, or its error.
func (w *world) ask(dir string, args ...string) (string, error) {
	w.t.Helper()
	cmd := exec.Command(w.git, append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=n",
		"-c", "user.email=e@x", "-c", "init.defaultBranch=main", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir, cmd.Env = w.in(dir), w.env
	out, err := cmd.Output()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return string(exit.Stderr), err
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// repo makes a repository with one commit.
func (w *world) repo(p string, args ...string) {
	w.t.Helper()
	w.mkdir(p)
	w.run(p, append([]string{"init", "-q"}, args...)...)
	w.run(p, "commit", "-q", "--allow-empty", "-m", "first")
}

func (w *world) linked(repo, p string) {
	w.t.Helper()
	w.run(repo, "worktree", "add", "-q", "--detach", w.in(p))
}

// locate looks from a directory of the world, links resolved as a session's are.
func (w *world) locate(dir string, o Options) scope.Git {
	w.t.Helper()
	real, err := canon.Path(w.in(dir))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.outward(Locate(context.Background(), real, o))
}

// outward takes the world's own directory out of an answer.
func (w *world) outward(g scope.Git) scope.Git {
	g.CommonDir = strings.TrimPrefix(g.CommonDir, w.top+"/")
	g.Worktree = strings.TrimPrefix(g.Worktree, w.top+"/")
	g.MainWorktree = strings.TrimPrefix(g.MainWorktree, w.top+"/")
	g.Problem = strings.ReplaceAll(g.Problem, w.top+"/", "")
	return g
}

// rev is git's own answer, in the same terms; "" where git has none.
func (w *world) rev(dir, what string) string {
	w.t.Helper()
	out, err := w.ask(dir, "rev-parse", "--path-format=absolute", what)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(out, w.top+"/")
}
