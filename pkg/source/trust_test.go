package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/state"
)

func TestAnUntrustedFileChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.write(".mcpx.json", server("a", `, "env": {"T": "user"}`))
	before := w.loader().View(w.project)
	w.write("src/app/.mcpx.json", `{"mcpServers": {
		"a": {"command": "evil", "mcpx": {"disabled": true, "max": 1, "zzz": 1}},
		"b": {"command": "b"}, "bad": {"command": 3}}, "daemon": {"approve": "any"}}`)
	after := w.loader().View(w.project)
	path := filepath.Join(w.project, projectName)
	want := []config.Untrusted{{Name: "b", File: path}, {Name: "bad", File: path}}
	if diff := cmp.Diff(want, after.Untrusted); diff != "" {
		t.Errorf("untrusted (-want +got):\n%s", diff)
	}
	after.Untrusted = nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the rest of the view (-without +with the file):\n%s", diff)
	}
}

func TestTrustHoldsForExactlyWhatWasApproved(t *testing.T) {
	tests := []struct {
		name   string
		src    string
		change func(w *world)
	}{
		{"one byte of the file", server("a", ""), func(w *world) { w.write("src/app/.mcpx.json", server("a", " ")) }},
		{"a script in an argument", server("a", `, "args": ["srv.py"]`), func(w *world) { w.write("src/app/srv.py", "evil") }},
		{"the program itself", `{"mcpServers": {"a": {"command": "./bin/srv"}}}`, func(w *world) { w.write("src/app/bin/srv", "evil") }},
		{"a script below the server's cwd", server("a", `, "args": ["x.js"], "cwd": "${mcpx.root}/tools", "mcpx": {"scope": "worktree"}`), func(w *world) { w.write("src/app/tools/x.js", "evil") }},
		{"a script named by a placeholder", server("a", `, "args": ["${mcpx.root}/srv.py"], "mcpx": {"scope": "worktree"}`), func(w *world) { w.write("src/app/srv.py", "evil") }},
		{"a script that was not there", server("a", `, "args": ["new.py"]`), func(w *world) { w.write("src/app/new.py", "evil") }},
		{"a script that is gone", server("a", `, "args": ["srv.py"]`), func(w *world) { must(w.t, os.Remove(filepath.Join(w.project, "srv.py"))) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for _, path := range []string{"srv.py", "bin/srv", "tools/x.js", "unrelated"} {
				w.write("src/app/"+path, "good")
			}
			path := w.write("src/app/.mcpx.json", tt.src)
			l := w.loader()
			w.check("before", l.View(w.project), sees{Untrusted: []string{"a"}})
			w.trust(l, path)
			v := l.View(w.project)
			if !cmp.Equal(v.Names, []string{"a"}) || v.Servers["a"].Tier != config.Project {
				t.Fatalf("trusted: got %+v, want a of the project's", look(v))
			}
			w.write("src/app/unrelated", "changed")
			l.Reload()
			if v := l.View(w.project); !cmp.Equal(v.Names, []string{"a"}) {
				t.Errorf("an unrelated file changed: got %+v, want a still trusted", look(v))
			}
			tt.change(w)
			l.Reload()
			w.check("after the change", l.View(w.project), sees{Untrusted: []string{"a"}})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTrustIsOfOnePath(t *testing.T) {
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", server("a", ""))
	w.write("src/copy/.mcpx.json", server("a", ""))
	l := w.loader()
	w.trust(l, path)
	w.check("a copy elsewhere", l.View(filepath.Join(w.home, "src/copy")), sees{Untrusted: []string{"a"}})

	w.link(w.project, "way")
	w.check("the same file by a link", l.View(filepath.Join(w.home, "way")), sees{Names: []string{"a"}})
	must(t, l.Untrust(filepath.Join(w.home, "way", projectName)))
	w.check("after Untrust", l.View(w.project), sees{Untrusted: []string{"a"}})
}

func TestUntrustWorksWhenTheFileIsGone(t *testing.T) {
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", server("a", ""))
	l := w.loader()
	w.trust(l, path)
	must(t, os.Remove(path))
	must(t, l.Untrust(path))
	w.write("src/app/.mcpx.json", server("a", ""))
	w.check("the file is back", l.View(w.project), sees{Untrusted: []string{"a"}})
}

func TestTrustRefusesWhatIsNotWhatWasShown(t *testing.T) {
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", server("a", ""))
	l := w.loader()
	file, _, err := l.ReadProject(path)
	must(t, err)
	w.write("src/app/.mcpx.json", server("evil", ""))
	err = l.Trust(path, file.SHA256)
	if p, ok := errors.AsType[config.Problem](err); !ok || p.Msg != "changed since it was shown" || p.Hint == "" {
		t.Errorf("got %v, want a problem: changed since it was shown", err)
	}
	l.Reload()
	w.check("view", l.View(w.project), sees{Untrusted: []string{"evil"}})
}

func TestABrokenFileIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", "{")
	l := w.loader()
	file, ps, err := l.ReadProject(path)
	must(t, err)
	if len(ps) != 1 || l.Trust(path, file.SHA256) == nil {
		t.Errorf("got problems %v and trust, want one problem and none", ps)
	}
}

func TestATrustFileNobodyCanVouchForTrustsNothing(t *testing.T) {
	w := newWorld(t)
	path := w.write("src/app/.mcpx.json", server("a", ""))
	l := w.loader()
	w.trust(l, path)
	kept := `{"format": 99, "data": {}}`
	trustPath := filepath.Join(w.o.State.Path(), trustFile)
	must(t, os.WriteFile(trustPath, []byte(kept), 0o600))
	ps := l.Reload()
	if len(ps) != 1 || !strings.Contains(ps[0].Msg, "written in format 99") || ps[0].Hint == "" {
		t.Errorf("Reload: got %v, want one problem about format 99", ps)
	}
	if v := l.View(w.project); len(v.Names) > 0 || len(v.Untrusted) != 1 {
		t.Errorf("got %+v, want a untrusted", look(v))
	}
	if _, ok := errors.AsType[*state.Refusal](l.Untrust(path)); !ok {
		t.Error("Untrust changed a file of a newer format")
	}
	if got, _ := os.ReadFile(trustPath); string(got) != kept {
		t.Errorf("the trust file now holds %q", got)
	}
}

func TestWithoutAStateDirectoryNothingIsTrusted(t *testing.T) {
	w := newWorld(t)
	w.o.State = nil
	path := w.write("src/app/.mcpx.json", server("a", ""))
	l := w.loader()
	file, _, err := l.ReadProject(path)
	must(t, err)
	if l.Trust(path, file.SHA256) == nil {
		t.Error("Trust worked")
	}
	w.check("view", l.View(w.project), sees{Untrusted: []string{"a"}})
}
