package gitwhere

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/scope"
)

func fifo(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLocateDegradesAtOnce is threat T11: what cannot be read gives a reason
// within 100 ms, and no facts; -race and a busy machine are allowed more.
func TestLocateDegradesAtOnce(t *testing.T) {
	replace := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, top string) {
			if err := os.RemoveAll(top + "/.git"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(top+"/"+name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		make func(t *testing.T, top string)
		want string
	}{
		{"a FIFO called config", func(t *testing.T, top string) { fifo(t, top+"/.git/config") },
			".git/config is not a regular file"},
		{"a FIFO called commondir", func(t *testing.T, top string) { fifo(t, top+"/.git/commondir") },
			".git/commondir is not a regular file"},
		{"a FIFO called .git", func(t *testing.T, top string) {
			if err := os.RemoveAll(top + "/.git"); err != nil {
				t.Fatal(err)
			}
			fifo(t, top+"/.git")
		}, ".git is neither a file nor a directory"},
		{"a config without end", func(t *testing.T, top string) {
			if err := os.Truncate(top+"/.git/config", maxFile+1); err != nil {
				t.Fatal(err)
			}
		}, ".git/config is larger than 1 MiB"},
		{"a device called config", func(t *testing.T, top string) {
			if err := os.Remove(top + "/.git/config"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/dev/zero", top+"/.git/config"); err != nil {
				t.Fatal(err)
			}
		}, ".git/config is not a regular file"},
		{"a pointer to itself", replace(".git", "gitdir: .git\n"), ".git: open .git: not a directory"},
		{"a pointer to nothing", replace(".git", "gitdir: gone\n"), ".git names gone, which is not there"},
		{"a pointer to a directory that is none", replace(".git", "gitdir: .\n"),
			".git names ., which is not a git directory"},
		{"an empty pointer", replace(".git", ""), ".git does not say where the git directory is"},
		{"a pointer without a path", replace(".git", "gitdir: \n"), ".git does not say where the git directory is"},
		{"a pointer with a NUL", replace(".git", "gitdir: a\x00b\n"), ".git holds a NUL"},
		{"a link to itself", func(t *testing.T, top string) {
			if err := os.RemoveAll(top + "/.git"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(".git", top+"/.git"); err != nil {
				t.Fatal(err)
			}
		}, "stat .git: too many levels of symbolic links"},
		{"a link to nothing", func(t *testing.T, top string) {
			if err := os.RemoveAll(top + "/.git"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("gone", top+"/.git"); err != nil {
				t.Fatal(err)
			}
		}, ".git is a link to nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outer := handmade(t, "")
			top := outer + "/inner"
			if err := os.Mkdir(top, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(top+"/.git", os.DirFS(outer+"/.git")); err != nil {
				t.Fatal(err)
			}
			tt.make(t, top)
			began := time.Now()
			got := Locate(t.Context(), top, Options{})
			if took := time.Since(began); took > time.Second {
				t.Errorf("Locate took %v", took)
			}
			got.Problem = strings.ReplaceAll(got.Problem, top+"/", "")
			if diff := cmp.Diff(scope.Git{Problem: tt.want}, got); diff != "" {
				t.Errorf("Locate (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLocateRefusesAnotherOwner fakes the owner: a test has only its own.
func TestLocateRefusesAnotherOwner(t *testing.T) {
	top := handmade(t, "")
	for name, uid := range map[string]int{"ours": os.Geteuid(), "root's": 0, "another's": 4242} {
		l := searching(nil)
		l.stat = func(info fs.FileInfo) (int, uint64) {
			if info.Name() == ".git" {
				return uid, 1
			}
			return os.Geteuid(), 1
		}
		got, err := l.locate(t.Context(), top)
		if refused := err != nil; refused != (uid == 4242) || refused != (got == scope.Git{}) {
			t.Errorf("a .git that is %s: got %+v, %v", name, got, err)
		}
		if err != nil && err.Error() != top+"/.git belongs to another user" {
			t.Errorf("reason: got %v", err)
		}
	}
}

// TestLocateStaysOnOneFileSystem fakes the mount: git does not look across one.
func TestLocateStaysOnOneFileSystem(t *testing.T) {
	top := handmade(t, "")
	if err := os.MkdirAll(top+"/mount/below", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mounted := range []bool{false, true} {
		l := searching(nil)
		l.stat = func(info fs.FileInfo) (int, uint64) {
			if mounted && (info.Name() == "mount" || info.Name() == "below") {
				return os.Geteuid(), 2
			}
			return os.Geteuid(), 1
		}
		got, err := l.locate(t.Context(), top+"/mount/below")
		if found := got.Worktree == top; found == mounted || err != nil {
			t.Errorf("mounted %v: got %+v, %v", mounted, got, err)
		}
	}
}

func TestLocateSaysWhyItCannotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	top := handmade(t, "")
	if err := os.Chmod(top+"/.git", 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(top+"/.git", 0o755)
	if got := Locate(t.Context(), top, Options{}); !strings.Contains(got.Problem, "permission denied") || got.CommonDir != "" {
		t.Errorf("Locate: got %+v, want permission denied and no facts", got)
	}
}

// FuzzLocate writes what it likes into a tree beside a victim: the search ends,
// and no key and no root ever leaves that tree (threats §5, 4).
func FuzzLocate(f *testing.F) {
	f.Add("f.git:gitdir: %V%/.git\n|", "")
	f.Add("f.git:gitdir: %V%/.git/worktrees/w\n|", "a")
	f.Add("d.git|da|f.git/HEAD:ref: refs/heads/x|f.git/commondir:%V%/.git|", "a")
	f.Add("l.git:%V%/.git|", "")
	f.Add("fHEAD:ref: refs/x|dobjects|drefs|fconfig:[core]\n\tworktree = %V%|", "objects")
	f.Add("fe/HEAD:ref: refs/x|fe/commondir:%V%/.git|fe/gitdir:../.git|f.git:gitdir: e|", "")
	f.Add("l.git:.git|pa/.git|", "a")
	f.Add("fHEAD:ref: refs/x|fcommondir:%V%/.git|", "")
	f.Add("d.git/worktrees/w|l.git/objects:%V%/.git/objects|l.git/refs:%V%/.git/refs|f.git/HEAD:ref: refs/x|", "")
	f.Fuzz(func(t *testing.T, recipe, below string) {
		top := handmade(t, "")
		victim, evil := top+"/victim", top+"/evil"
		if err := os.Rename(top+"/.git", top+"/kept"); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			os.MkdirAll(victim, 0o755), os.MkdirAll(evil, 0o755), os.MkdirAll(top+"/wt", 0o755),
			os.Rename(top+"/kept", victim+"/.git"),
			os.MkdirAll(victim+"/.git/worktrees/w", 0o755),
			os.WriteFile(victim+"/.git/worktrees/w/HEAD", []byte("ref: refs/heads/w\n"), 0o644),
			os.WriteFile(victim+"/.git/worktrees/w/commondir", []byte("../..\n"), 0o644),
			os.WriteFile(victim+"/.git/worktrees/w/gitdir", []byte(top+"/wt/.git\n"), 0o644),
			os.WriteFile(top+"/wt/.git", []byte("gitdir: "+victim+"/.git/worktrees/w\n"), 0o644),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		cook(evil, victim, recipe)
		dir, err := canon.Dir(filepath.Join(evil, filepath.Clean("/"+below)))
		if err != nil || !canon.Under(dir, evil) {
			dir = evil
		}
		g := Locate(t.Context(), dir, Options{Ceilings: []string{top}})
		for what, p := range map[string]string{"key": g.CommonDir, "worktree": g.Worktree, "main worktree": g.MainWorktree} {
			if p != "" && !canon.Under(p, evil) {
				t.Errorf("the %s left the tree: %+v", what, g)
			}
		}
		if g.Worktree != "" && !canon.Under(dir, g.Worktree) {
			t.Errorf("the worktree %q does not hold %q", g.Worktree, dir)
		}
	})
}

// cook makes entries below dir: "d" a directory, "f" a file, "l" a link, "p" a
// FIFO. What cannot be made is left out.
func cook(dir, victim, recipe string) {
	recipe = strings.ReplaceAll(recipe, "%V%", victim)
	for i, entry := range strings.Split(recipe, "|") {
		name, text, _ := strings.Cut(entry, ":")
		if name == "" || i > 32 {
			continue
		}
		kind, path := name[0], filepath.Join(dir, filepath.Clean("/"+name[1:]))
		if parent, err := canon.Deepest(filepath.Dir(path)); err != nil || !canon.Under(parent, dir) {
			continue // through a link of its own making
		}
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		switch kind {
		case 'd':
			_ = os.MkdirAll(path+"/objects", 0o755)
			_ = os.MkdirAll(path+"/refs", 0o755)
		case 'f':
			if _, err := os.Lstat(path); err != nil {
				_ = os.WriteFile(path, []byte(text), 0o644)
			}
		case 'l':
			_ = os.Symlink(text, path)
		case 'p':
			_ = syscall.Mkfifo(path, 0o600)
		}
	}
}
