package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"
)

// write makes files below dir; "" removes one.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if text == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// commit records all of dir and returns the hash.
func commit(t *testing.T, r *git.Repository) string {
	t.Helper()
	w, err := r.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddGlob("."); err != nil {
		t.Fatal(err)
	}
	who := &object.Signature{Name: "you", Email: "you@example.com", When: time.Unix(0, 0)}
	hash, err := w.Commit("a commit", &git.CommitOptions{Author: who, AllowEmptyCommits: true})
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

func someFleet(t *testing.T) (repo string, r *git.Repository) {
	t.Helper()
	repo = t.TempDir()
	r, err := git.PlainInit(repo, false)
	if err != nil {
		t.Fatal(err)
	}
	write(t, repo, map[string]string{
		"fleet/.mcpx.json": "one", "fleet/rules.json": "rules", "fleet/machines/a.json": "a", "fleet/machines/.a.json.swp": "x",
		"fleet/README.md": "x", "fleet/machines/note.txt": "x",
	})
	return repo, r
}

func text(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, data := range files {
		out[name] = string(data)
	}
	return out
}

func TestReadTakesTheFilesOfAFleetAndNoOther(t *testing.T) {
	repo, _ := someFleet(t)
	got, err := Read(filepath.Join(repo, "fleet"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{".mcpx.json": "one", "rules.json": "rules", "machines/a.json": "a"}
	if diff := cmp.Diff(want, text(got.Files)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Commit != "" || got.Dirty || got.Doubt != nil {
		t.Errorf("without a commit: got %+v", got)
	}
	plain := t.TempDir()
	if got, err := Read(plain); err != nil || len(got.Files) != 0 {
		t.Errorf("an empty folder: got %v, %v", got.Files, err)
	}
	var e *Error
	if _, err := Read(filepath.Join(plain, "no")); !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("no folder: got %v", err)
	}
}

func TestReadSaysWhichCommitAndWhetherItStillHolds(t *testing.T) {
	repo, r := someFleet(t)
	hash := commit(t, r)
	dir := filepath.Join(repo, "fleet")
	check := func(what string, dirty bool) {
		t.Helper()
		got, err := Read(dir)
		if err != nil || got.Commit != hash || got.Dirty != dirty || got.Doubt != nil {
			t.Errorf("%s: got commit %.7s, dirty %v, doubt %v, %v; want %.7s, %v", what, got.Commit, got.Dirty, got.Doubt, err, hash, dirty)
		}
	}
	check("as it was committed", false)
	t.Chdir(repo)
	if got, err := Read("fleet"); err != nil || got.Commit != hash || got.Doubt != nil {
		t.Errorf("from beside it: got %+v, %v", got, err)
	}
	write(t, repo, map[string]string{"elsewhere": "x", "fleet/README.md": "y"})
	check("what is no part of the fleet does not count", false)
	write(t, dir, map[string]string{".mcpx.json": "two"})
	check("a file changed", true)
	write(t, dir, map[string]string{".mcpx.json": "one", "machines/b.json": "b"})
	check("a machine more", true)
	write(t, dir, map[string]string{"machines/b.json": "", "rules.json": ""})
	check("a file less", true)
}

func TestReadRevReadsTheCommitWhateverLiesOnTheDisk(t *testing.T) {
	repo, r := someFleet(t)
	first := commit(t, r)
	dir := filepath.Join(repo, "fleet")
	write(t, dir, map[string]string{".mcpx.json": "two", "machines/b.json": "b"})
	commit(t, r)
	write(t, dir, map[string]string{".mcpx.json": "three", "machines/b.json": ""})
	for _, tt := range []struct {
		rev  string
		want map[string]string
	}{
		{"HEAD", map[string]string{".mcpx.json": "two", "rules.json": "rules", "machines/a.json": "a", "machines/b.json": "b"}},
		{"HEAD~1", map[string]string{".mcpx.json": "one", "rules.json": "rules", "machines/a.json": "a"}},
		{first[:8], map[string]string{".mcpx.json": "one", "rules.json": "rules", "machines/a.json": "a"}},
	} {
		got, err := ReadRev(dir, tt.rev)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, text(got.Files)); diff != "" || got.Dirty || len(got.Commit) != 40 {
			t.Errorf("%s: commit %q, dirty %v (-want +got):\n%s", tt.rev, got.Commit, got.Dirty, diff)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRev(dir, "HEAD"); err != nil || len(got.Files) != 4 {
		t.Errorf("a folder that is gone from the disk: got %v, %v", text(got.Files), err)
	}
	var e *Error
	if _, err := ReadRev(dir, "v9"); !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("an unknown revision: got %v", err)
	}
	if _, err := ReadRev(t.TempDir(), "HEAD"); !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("no repository: got %v", err)
	}
}

// What go-git would take for the part before it must not be taken at all.
func TestReadRevRefusesWhatIsNotEvaluated(t *testing.T) {
	repo, r := someFleet(t)
	commit(t, r)
	commit(t, r)
	dir := filepath.Join(repo, "fleet")
	for _, rev := range []string{"HEAD@{1}", "@{1}", "master@{upstream}", "master:fleet", "HEAD:", ":fleet", ":/a commit", "HEAD^{tree}", "HEAD^{/a}", "HEAD^3", "HEAD~1:fleet", "^HEAD", ""} {
		var e *Error
		if got, err := ReadRev(dir, rev); !errors.As(err, &e) || !strings.Contains(e.Hint(), "a hash") {
			t.Errorf("%q: got commit %q, %v, want it refused", rev, got.Commit, err)
		}
	}
	for _, rev := range []string{"HEAD", "master", "refs/heads/master", "HEAD~", "HEAD~1", "HEAD^", "HEAD^1", "HEAD^0~1"} {
		if _, err := ReadRev(dir, rev); err != nil {
			t.Errorf("%s: %v", rev, err)
		}
	}
}

func TestALinkedWorktreeHasItsOwnCommit(t *testing.T) {
	repo, r := someFleet(t)
	hash := commit(t, r)
	linked := filepath.Join(t.TempDir(), "linked")
	admin := filepath.Join(repo, ".git", "worktrees", "linked")
	write(t, "/", map[string]string{
		admin + "/HEAD": hash + "\n", admin + "/commondir": "../..\n", admin + "/gitdir": linked + "/.git\n",
		linked + "/.git": "gitdir: " + admin + "\n", linked + "/fleet/.mcpx.json": "other",
	})
	got, err := Read(filepath.Join(linked, "fleet"))
	if err != nil || got.Commit != hash || !got.Dirty {
		t.Errorf("got %+v, %v; want commit %s and dirty", got, err, hash)
	}
}

func TestALinkInACommitIsNotFollowed(t *testing.T) {
	repo, r := someFleet(t)
	dir := filepath.Join(repo, "fleet")
	write(t, dir, map[string]string{"rules.json": ""})
	if err := os.Symlink(".mcpx.json", filepath.Join(dir, "rules.json")); err != nil {
		t.Fatal(err)
	}
	commit(t, r)
	var e *Error
	if _, err := ReadRev(dir, "HEAD"); !errors.As(err, &e) {
		t.Errorf("got %v, want it refused", err)
	}
	got, err := Read(dir)
	if err != nil || string(got.Files["rules.json"]) != "one" || got.Doubt == nil {
		t.Errorf("on the disk: got %q, doubt %v, %v", got.Files["rules.json"], got.Doubt, err)
	}
}
