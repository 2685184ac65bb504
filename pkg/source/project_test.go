package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

func TestAProjectFileIsRefusedUnlessItIsPlainAndOnesOwn(t *testing.T) {
	tests := []struct {
		name  string
		place func(w *world, path string)
		want  string // "" is accepted
	}{
		{"a plain file", func(w *world, path string) { w.write("src/app/.mcpx.json", server("a", "")) }, ""},
		{"a link within the project", func(w *world, path string) {
			w.write("src/app/tools/mcpx.json", server("a", ""))
			w.link("tools/mcpx.json", "src/app/.mcpx.json")
		}, ""},
		{"a link out of it", func(w *world, path string) { w.link(w.write("src/out.json", server("a", "")), "src/app/.mcpx.json") }, "is a link that leads out"},
		{"a relative link out of it", func(w *world, path string) {
			w.write("src/out.json", server("a", ""))
			w.link("../out.json", "src/app/.mcpx.json")
		}, "is a link that leads out"},
		{"a FIFO nobody writes", func(w *world, path string) { must(w.t, syscall.Mkfifo(path, 0o644)) }, "is not a regular file"},
		{"a directory", func(w *world, path string) { must(w.t, os.Mkdir(path, 0o755)) }, "is not a regular file"},
		{"two megabytes", func(w *world, path string) {
			w.write("src/app/.mcpx.json", server("a", "")+strings.Repeat(" ", 2<<20))
		}, "is larger than"},
		{"writable by everybody", func(w *world, path string) {
			w.write("src/app/.mcpx.json", server("a", ""))
			must(w.t, os.Chmod(path, 0o646))
		}, "mode 0646 lets others write it"},
		{"writable by one's own group", func(w *world, path string) {
			w.write("src/app/.mcpx.json", server("a", ""))
			must(w.t, os.Chown(path, -1, os.Getegid()))
			must(w.t, os.Chmod(path, 0o664))
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			path := filepath.Join(w.project, projectName)
			tt.place(w, path)
			l := w.loader()
			_, _, err := l.ReadProject(path)
			p, _ := errors.AsType[config.Problem](err)
			if (err == nil) != (tt.want == "") || !strings.Contains(p.Msg, tt.want) {
				t.Errorf("ReadProject: got %v, want %q", err, tt.want)
			}
			v := l.View(w.project)
			if tt.want == "" {
				w.check("view", v, sees{Untrusted: []string{"a"}})
			} else if len(v.Names)+len(v.Untrusted) > 0 || len(v.Problems) != 1 || v.Problems[0].File != path {
				t.Errorf("view: got %+v, want nothing but a problem with %s", look(v), path)
			}
		})
	}
}

func TestAProjectFileOfAnotherIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", server("a", ""))
	must(t, os.Chown(path, 4242, -1))
	w.check("another user's", w.loader().View(w.project), sees{Problems: []string{"belongs to user 4242"}})
	must(t, os.Chown(path, 0, 4242))
	must(t, os.Chmod(path, 0o664))
	w.check("another group's", w.loader().View(w.project), sees{Problems: []string{"mode 0664 lets others write it"}})
}

func TestTheUsersOwnFileIsNeverAskedForTrust(t *testing.T) {
	tests := []struct {
		name string
		link func(w *world)
	}{
		{"the user's is a link to the repository's", func(w *world) {
			w.link(w.write("src/app/.mcpx.json", server("a", `, "mcpx": {"envPolicy": "inherit"}`)), ".config/mcpx/config.json")
		}},
		{"the repository's is a link to the user's", func(w *world) {
			w.link(w.write(".config/mcpx/config.json", server("a", `, "mcpx": {"envPolicy": "inherit"}`)), "src/app/.mcpx.json")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.link(w)
			l := w.loader()
			v := l.View(w.project)
			w.check("view", v, sees{Names: []string{"a"}})
			want := []string{filepath.Join(w.home, ".config/mcpx/config.json")}
			if diff := cmp.Diff(want, v.Files); diff != "" || v.Servers["a"].Tier != config.User {
				t.Errorf("got tier %q, files (-want +got):\n%s", v.Servers["a"].Tier, diff)
			}
			_, _, err := l.ReadProject(filepath.Join(w.project, projectName))
			if p, _ := errors.AsType[config.Problem](err); p.Msg != "is your own file and needs no trust" {
				t.Errorf("ReadProject: got %v", err)
			}
		})
	}
}

func TestOnlyProjectFilesAreReadAsSuch(t *testing.T) {
	w := newWorld(t)
	l := w.loader()
	for path, want := range map[string]string{
		w.write("src/app/other.json", "{}"):            "is not a project file",
		filepath.Join(w.project, projectName):          "no such file",
		filepath.Join(w.home, "none", projectName):     "no such file or directory",
		w.write(".mcpx.json", server("a", "")):         "is your own file and needs no trust",
		filepath.Join(w.home, "src/app/none/.MCPX.js"): "is not a project file",
	} {
		_, _, err := l.ReadProject(path)
		if p, ok := errors.AsType[config.Problem](err); !ok || p.Msg != want || p.File != path {
			t.Errorf("ReadProject(%s): got %v, want %q", path, err, want)
		}
	}
}

// A writer swaps the file while it is loaded: nothing but approved bytes ever
// has a say (threat T5).
func TestOnlyApprovedBytesRunWhileAWriterSwapsTheFile(t *testing.T) {
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", server("good", ""))
	l := w.loader()
	w.trust(l, path)

	good, evil := []byte(server("good", "")), []byte(server("evil", ""))
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		tmp := filepath.Join(w.project, "tmp")
		for i := 0; !stop.Load(); i++ {
			content := good
			if i%2 == 1 {
				content = evil
			}
			if i%3 == 0 {
				_ = os.WriteFile(path, content, 0o644)
				continue
			}
			_ = os.WriteFile(tmp, content, 0o644)
			_ = os.Rename(tmp, path)
		}
	})
	defer wg.Wait()
	defer stop.Store(true)
	for range 300 {
		l.Reload()
		v := l.View(w.project)
		if s := v.Servers["evil"]; s != nil {
			t.Fatalf("a server nobody approved: %+v", s)
		}
		if s := v.Servers["good"]; s != nil && s.Command != "good" {
			t.Fatalf("the approved server with another's command: %+v", s)
		}
	}
}

func TestALoaderIsSafeForManyAtOnce(t *testing.T) {
	w := newWorld(t)
	w.write(".mcpx.json", server("a", ""))
	path := w.write("src/app/.mcpx.json", server("b", ""))
	l := w.loader()
	file, _, err := l.ReadProject(path)
	must(t, err)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 10 {
				if v := l.View(w.project); v.Servers["a"] == nil || v.Servers["b"] == nil && len(v.Untrusted) != 1 {
					t.Errorf("a view that never was: %+v", look(v))
				}
				switch i {
				case 0:
					l.Reload()
				case 1:
					if err := l.Trust(path, file.SHA256); err != nil {
						t.Error(err)
					}
				case 2:
					if err := l.Untrust(path); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}
