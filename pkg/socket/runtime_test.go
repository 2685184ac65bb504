package socket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// open is a fresh runtime directory, closed with the test.
func open(t *testing.T) *Runtime {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "run"))
}

func openAt(t *testing.T, path string) *Runtime {
	t.Helper()
	r, err := OpenRuntime(path, true)
	if err != nil {
		t.Fatalf("OpenRuntime(%s): %v", path, err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func hint(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return h.Hint()
	}
	return ""
}

func TestOpenRuntimeMakesAPrivateDirectory(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "a", "b", "run")
	r := openAt(t, path)
	if r.Path() != path {
		t.Errorf("Path() = %s, want %s", r.Path(), path)
	}
	for _, dir := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(dir)
		if err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: mode %v, %v, want drwx------", dir, info.Mode(), err)
		}
	}
	openAt(t, path) // the second one finds it in order
}

func TestOpenRuntimeWithoutCreateFindsNoDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	_, err := OpenRuntime(path, false)
	if !errors.Is(err, ErrNoDaemon) || err.Error() != "no daemon on "+path || hint(err) != "start it with: mcpx daemon" {
		t.Errorf("got %v (hint %q)", err, hint(err))
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

// Threat T14: what another user made first is refused, and left as it is.
func TestOpenRuntimeRefuses(t *testing.T) {
	uid := os.Geteuid()
	tests := []struct {
		name  string
		plant func(t *testing.T, path string) error
		want  string // %[1]s is the path, %[2]d our uid
	}{
		{"a directory open to all", mkdir(0o777),
			"runtime directory: %[1]s is open to other users (a directory, owner uid %[2]d, mode 0777)"},
		{"a directory that a group may list", mkdir(0o740),
			"runtime directory: %[1]s is open to other users (a directory, owner uid %[2]d, mode 0740)"},
		{"a sticky directory like /tmp", mkdir(0o777 | os.ModeSticky),
			"runtime directory: %[1]s is open to other users (a directory, owner uid %[2]d, mode 1777)"},
		{"a file", func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("kept"), 0o600) },
			"runtime directory: %[1]s is not a directory (a regular file, owner uid %[2]d, mode 0600)"},
		{"a link to a good directory", func(t *testing.T, path string) error {
			return os.Symlink(privateDir(t), path)
		}, "runtime directory: %[1]s is not a directory (a symbolic link, owner uid %[2]d, mode 0777)"},
		{"a dangling link", func(_ *testing.T, path string) error { return os.Symlink("nowhere", path) },
			"runtime directory: %[1]s is not a directory (a symbolic link, owner uid %[2]d, mode 0777)"},
	}
	for _, tt := range tests {
		for _, create := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, create %v", tt.name, create), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "run")
				if err := tt.plant(t, path); err != nil {
					t.Fatal(err)
				}
				before, _ := os.Lstat(path)
				_, err := OpenRuntime(path, create)
				if err == nil {
					t.Fatal("it was taken")
				}
				if diff := cmp.Diff(fmt.Sprintf(tt.want, path, uid), err.Error()); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
				if !strings.Contains(hint(err), "--runtime-dir") {
					t.Errorf("hint %q names no way out", hint(err))
				}
				after, _ := os.Lstat(path)
				if !os.SameFile(before, after) || before.Mode() != after.Mode() {
					t.Errorf("it was changed: %v, then %v", before.Mode(), after.Mode())
				}
			})
		}
	}
}

func mkdir(mode os.FileMode) func(*testing.T, string) error {
	return func(_ *testing.T, path string) error {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		return os.Chmod(path, mode)
	}
}

func privateDir(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "real")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenRuntimeRefusesForeignOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	const stranger = 4711
	t.Run("of the directory", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "run")
		mkdir(0o700)(t, path)
		os.Chown(path, stranger, stranger)
		_, err := OpenRuntime(path, true)
		want := fmt.Sprintf("runtime directory: %s belongs to another user (a directory, owner uid 4711, mode 0700)", path)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("of a directory above, also behind a link", func(t *testing.T) {
		base := t.TempDir()
		foreign := filepath.Join(base, "foreign")
		mkdir(0o755)(t, foreign)
		mkdir(0o700)(t, filepath.Join(foreign, "mine"))
		os.Symlink(filepath.Join(foreign, "mine"), filepath.Join(base, "link"))
		os.Chown(foreign, stranger, stranger)
		for _, path := range []string{foreign + "/mine/run", base + "/link/run"} {
			_, err := OpenRuntime(path, true)
			want := "runtime directory: " + foreign + " is above the runtime directory and belongs to another user"
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("OpenRuntime(%s): %v, want %s", path, err, want)
			}
		}
		os.Chmod(foreign, 0o777|os.ModeSticky)
		openAt(t, foreign+"/mine/run") // nobody else can rename in a sticky directory
	})
}

func TestOpenRuntimeWantsAnAbsolutePath(t *testing.T) {
	if _, err := OpenRuntime("run", true); err == nil || hint(err) == "" {
		t.Errorf("got %v, hint %q", err, hint(err))
	}
}
