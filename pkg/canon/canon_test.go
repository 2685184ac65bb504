package canon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tree makes real/x, two links to real, a link to what is missing and a file.
func tree(t *testing.T) string {
	t.Helper()
	top, err := Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(top+"/real/x", 0o755),
		os.MkdirAll(top+"/other", 0o755),
		os.WriteFile(top+"/file", nil, 0o644),
		os.Symlink(top+"/real", top+"/link"),
		os.Symlink("real/x", top+"/deep"),
		os.Symlink("other/later", top+"/dangling"),
		os.Symlink("loop", top+"/loop"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestPath(t *testing.T) {
	top := tree(t)
	tests := []struct{ name, in, want string }{
		{"a link is resolved", "/link/x", "/real/x"},
		{"a trailing slash goes", "/real/", "/real"},
		{"dots and double slashes go", "//real/./x", "/real/x"},
		{".. is what the file system says, not the text", "/deep/..", "/real"},
		{"a file has a spelling too", "/file", "/file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Path(top + tt.in); got != top+tt.want || err != nil {
				t.Errorf("Path(%q): got %q, %v; want %q", tt.in, got, err, top+tt.want)
			}
		})
	}
	if got, err := Path("/"); got != "/" || err != nil {
		t.Errorf("Path(/): got %q, %v", got, err)
	}
}

func TestPathRefuses(t *testing.T) {
	top := tree(t)
	for name, p := range map[string]string{
		"a relative path": "real", "nothing": "", "what is missing": top + "/none",
		"a loop of links": top + "/loop", "a NUL": top + "/re\x00al", "a way through a file": top + "/file/x",
	} {
		if got, err := Path(p); err == nil {
			t.Errorf("%s: Path(%q): got %q, want an error", name, p, got)
		}
	}
}

func TestDirRefusesAFile(t *testing.T) {
	top := tree(t)
	if got, err := Dir(top + "/link"); got != top+"/real" || err != nil {
		t.Errorf("Dir(link): got %q, %v", got, err)
	}
	if _, err := Dir(top + "/file"); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("Dir(file): got %v, want not a directory", err)
	}
}

func TestDeepest(t *testing.T) {
	top := tree(t)
	tests := []struct{ name, in, want string }{
		{"what exists is as in Path", "/link/x", "/real/x"},
		{"the rest stands below the resolved ancestor", "/link/new/Deeper/", "/real/new/Deeper"},
		{"a dangling link leads where it will lead", "/dangling/y", "/other/later/y"},
		{"a dot behind a missing directory goes", "/real/new/./z", "/real/new/z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Deepest(top + tt.in)
			if got != top+tt.want || err != nil {
				t.Fatalf("Deepest(%q): got %q, %v; want %q", tt.in, got, err, top+tt.want)
			}
			if err := os.MkdirAll(got, 0o755); err != nil {
				t.Fatal(err)
			}
			if now, err := Path(top + tt.in); now != got || err != nil {
				t.Errorf("after it was made, Path: got %q, %v; want %q", now, err, got)
			}
		})
	}
}

func TestDeepestRefuses(t *testing.T) {
	top := tree(t)
	for name, p := range map[string]string{
		"a relative path": "new", "a loop": top + "/loop/x", "a way up from nowhere": top + "/none/../x",
		"a way through a file": top + "/file/x",
	} {
		if got, err := Deepest(p); err == nil {
			t.Errorf("%s: Deepest(%q): got %q, want an error", name, p, got)
		}
	}
}

// FuzzPath holds a canonical path against the file system itself: the same
// file, spelled so that nothing is left to resolve, and Under as a walk over
// inodes would have it (threats §5, 3).
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/link/x", "/deep/..", "/real/../link/", "/dangling", "/LINK", "/./file", "/real/new"} {
		f.Add(s, "/real")
	}
	f.Add("/other", "/link")
	f.Add("/real/x/..", "/deep")
	f.Fuzz(func(t *testing.T, a, b string) {
		top := tree(t)
		if strings.Count(a, "/") > 20 || strings.Contains(a+b, "..") && strings.Contains(a+b, "/../..") {
			t.Skip("leaves the tree")
		}
		dir, err := Path(top + "/" + a)
		if err != nil {
			if deep, err := Deepest(top + "/" + a); err == nil {
				if again, err := Deepest(deep); again != deep {
					t.Errorf("Deepest(%q) = %q is not its own spelling: %q, %v", a, deep, again, err)
				}
			}
			return
		}
		if again, err := Path(dir); again != dir || err != nil {
			t.Errorf("Path(%q) = %q is not its own spelling: %q, %v", a, dir, again, err)
		}
		if clean := filepath.Clean(dir); clean != dir {
			t.Errorf("Path(%q) = %q is not clean", a, dir)
		}
		if !same(t, top+"/"+a, dir) {
			t.Errorf("Path(%q) = %q is another file", a, dir)
		}
		root, err := Path(top + "/" + b)
		if err != nil {
			return
		}
		if got, want := Under(dir, root), walksTo(t, dir, root); got != want {
			t.Errorf("Under(%q, %q): got %v, want %v", dir, root, got, want)
		}
	})
}

func same(t *testing.T, a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// walksTo climbs from dir and looks for root's inode.
func walksTo(t *testing.T, dir, root string) bool {
	for {
		if same(t, dir, root) {
			return true
		}
		if dir == "/" {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

func TestMissingWrapsTheSystemsError(t *testing.T) {
	if _, err := Path(t.TempDir() + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Path of nothing: got %v, want fs.ErrNotExist", err)
	}
}

func TestReasonIsTheSystemsOwnWord(t *testing.T) {
	_, err := Path(filepath.Join(t.TempDir(), "none"))
	if got := Reason(err); got != syscall.ENOENT {
		t.Errorf("Reason(%v): got %v, want %v", err, got, syscall.ENOENT)
	}
	_, err = Path("none")
	if got := Reason(err); got != err {
		t.Errorf("Reason(%v): got %v, want the same", err, got)
	}
}
