package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/state"
)

// world is a home directory with a project in it.
type world struct {
	t       *testing.T
	home    string
	project string
	o       Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := canon.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(filepath.Join(home, ".local/state/mcpx"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, project: filepath.Join(home, "src/app")}
	w.o = Options{
		Dirs:   place.Dirs{Home: home, Config: filepath.Join(home, ".config/mcpx")},
		State:  st,
		System: filepath.Join(home, "etc/config.json"),
	}
	if err := os.MkdirAll(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) loader() *Loader { return New(w.o) }

// write puts content at a path below home.
func (w *world) write(path, content string) string {
	w.t.Helper()
	path = filepath.Join(w.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) link(target, path string) {
	w.t.Helper()
	path = filepath.Join(w.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		w.t.Fatal(err)
	}
}

// trust approves a project file as it is.
func (w *world) trust(l *Loader, path string) {
	w.t.Helper()
	file, _, err := l.ReadProject(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := l.Trust(path, file.SHA256); err != nil {
		w.t.Fatal(err)
	}
}

// server is a file with one server.
func server(name, rest string) string {
	return `{"mcpServers": {"` + name + `": {"command": "` + name + `"` + rest + `}}}`
}

// sees is what a view comes to, without the details.
type sees struct {
	Names     []string
	Untrusted []string
	Problems  []string
}

func look(v *config.Config) sees {
	got := sees{Names: v.Names}
	for _, u := range v.Untrusted {
		got.Untrusted = append(got.Untrusted, u.Name)
	}
	for _, p := range v.Problems {
		got.Problems = append(got.Problems, p.Msg)
	}
	return got
}

func (w *world) check(what string, v *config.Config, want sees) {
	w.t.Helper()
	if diff := cmp.Diff(want, look(v)); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestFilesAreSearchedNearestFirst(t *testing.T) {
	w := newWorld(t)
	w.write("etc/config.json", server("system", ""))
	w.write(".mcpx.json", server("home", ""))
	w.write(".config/mcpx/config.json", server("config", ""))
	upper := w.write("src/.mcpx.json", server("upper", ""))
	lower := w.write("src/app/.mcpx.json", server("lower", ""))
	if err := os.Mkdir(filepath.Join(w.project, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		w.o.System = filepath.Join(w.home, "none")
	}
	l := w.loader()
	w.trust(l, upper)
	w.trust(l, lower)
	want := []string{lower, upper, filepath.Join(w.home, ".config/mcpx/config.json"), filepath.Join(w.home, ".mcpx.json"), w.o.System}
	if os.Geteuid() != 0 {
		want = want[:4]
	}
	if diff := cmp.Diff(want, l.View(filepath.Join(w.project, "sub")).Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], l.View(w.home).Files); diff != "" {
		t.Errorf("files in home, whose .mcpx.json is the user's (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], l.View("").Files); diff != "" {
		t.Errorf("files without a directory (-want +got):\n%s", diff)
	}
}

func TestADirectoryOutsideHomeIsWalkedToTheRoot(t *testing.T) {
	w := newWorld(t)
	out, err := canon.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(out, "a/b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, projectName), []byte(server("out", "")), 0o644); err != nil {
		t.Fatal(err)
	}
	w.check("view", w.loader().View(deep), sees{Untrusted: []string{"out"}})
}

func TestExplicitFilesReplaceTheSearch(t *testing.T) {
	w := newWorld(t)
	w.write(".mcpx.json", server("home", ""))
	w.write("src/app/.mcpx.json", server("project", ""))
	w.o.Explicit = []string{w.write("one.json", server("one", "")), filepath.Join(w.home, "missing.json")}
	v := w.loader().View(w.project)
	w.check("view", v, sees{Names: []string{"one"}, Problems: []string{"no such file"}})
	if tier := v.Servers["one"].Tier; tier != config.Explicit {
		t.Errorf("got tier %q, want explicit", tier)
	}
}

func TestARelativeExplicitFileIsFoundFromWhereTheProcessStood(t *testing.T) {
	w := newWorld(t)
	path := w.write("one.json", server("one", ""))
	w.o.Explicit = []string{"one.json"}
	t.Chdir(w.home)
	l := w.loader()
	t.Chdir(w.project)
	v := l.View("")
	if len(v.Names) != 1 || v.Servers["one"].Dir != w.home || !cmp.Equal(v.Files, []string{path}) {
		t.Errorf("got %+v from %v, want one from %s", look(v), v.Files, path)
	}
}

func TestASystemFileMustBeRoots(t *testing.T) {
	w := newWorld(t)
	path := w.write("etc/config.json", server("system", ""))
	if os.Geteuid() == 0 {
		w.check("root's file", w.loader().View(""), sees{Names: []string{"system"}})
		if err := os.Chown(path, 4242, -1); err != nil {
			t.Fatal(err)
		}
	}
	w.check("somebody's file", w.loader().View(""), sees{Problems: []string{"must belong to root and be writable by root only"}})
}

func TestAViewIsKeptUntilReload(t *testing.T) {
	w := newWorld(t)
	w.write(".mcpx.json", server("one", ""))
	l := w.loader()
	first := l.View(w.project)
	w.write(".mcpx.json", server("two", ""))
	if l.View(w.project) != first {
		t.Error("the view changed without a reload")
	}
	w.check("another directory of the same generation", l.View(w.home), sees{Names: []string{"one"}})
	if l.View(w.home) != first {
		t.Error("directories with the same files do not share a view")
	}
	if ps := l.Reload(); len(ps) > 0 {
		t.Errorf("Reload: got problems %v", ps)
	}
	w.check("after the reload", l.View(w.project), sees{Names: []string{"two"}})
}

func TestABrokenFileKeepsItsLastGoodContent(t *testing.T) {
	w := newWorld(t)
	w.write(".mcpx.json", server("one", ""))
	w.write(".config/mcpx/config.json", server("other", ""))
	l := w.loader()
	l.View("")
	broken := `{"mcpServers": `
	path := w.write(".mcpx.json", broken)
	for range 2 {
		ps := l.Reload()
		if len(ps) != 1 || ps[0].File != path || ps[0].Line != 1 {
			t.Errorf("Reload: got problems %v, want one in %s on line 1", ps, path)
		}
		w.check("while it is broken", l.View(""), sees{
			Names: []string{"one", "other"}, Problems: []string{"the file ends in the middle"},
		})
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.link("nowhere", ".mcpx.json")
	l.Reload()
	w.check("while it is a link to nothing", l.View(""), sees{
		Names: []string{"one", "other"}, Problems: []string{"is a link to nothing"},
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l.Reload()
	w.check("when it is gone", l.View(""), sees{Names: []string{"other"}})

	w.write(".mcpx.json", broken)
	l.Reload()
	w.check("broken from the start", l.View(""), sees{
		Names: []string{"other"}, Problems: []string{"the file ends in the middle"},
	})
}
