package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

func (w *world) match(l *Loader, dir string) string {
	allow, _ := l.Rules().Table.Match(dir)
	return allow.String()
}

func TestRulesAreWhereTheConfigSays(t *testing.T) {
	w := newWorld(t)
	l := w.loader()
	if r := l.Rules(); r.Exists || r.Broken || w.match(l, w.project) != "all" || !r.Live || !r.Log {
		t.Errorf("without a document: %+v", r)
	}
	w.write(".config/mcpx/rules.json", `{"default":["a"]}`)
	w.write("elsewhere.json", `{"rules":[{"path":"~/src","servers":["b"]}]}`)
	l.Reload()
	if got := w.match(l, w.project); got != "a" {
		t.Errorf("beside the config: %s", got)
	}
	w.write(".config/mcpx/config.json", `{"mcpServers":{},"daemon":{"rules":{"path":"~/elsewhere.json","applyToRunningSessions":false,"logDecisions":false}}}`)
	l.Reload()
	if r := l.Rules(); w.match(l, w.project) != "b" || r.Live || r.Log || r.Path != filepath.Join(w.home, "elsewhere.json") {
		t.Errorf("where daemon.rules.path says: %+v", r)
	}
	w.o.Explicit = []string{w.write("fleet/config.json", `{"mcpServers":{}}`)}
	w.write("fleet/rules.json", `{"default":["c"]}`)
	if got := w.match(w.loader(), w.project); got != "c" {
		t.Errorf("beside the config that was named: %s", got)
	}
}

func TestRulesFollowLinks(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink(filepath.Join(w.home, "src"), filepath.Join(w.home, "code")))
	w.write(".config/mcpx/rules.json", `{"rules":[{"path":"~/code/app","servers":["a"]}]}`)
	if got := w.match(w.loader(), w.project); got != "a" {
		t.Errorf("a rule by way of a link: %s", got)
	}
}

func TestABrokenDocumentIsOpenOrClosedAndRecovers(t *testing.T) { // onError
	for onError, want := range map[string]string{"open": "all", "closed": "none"} {
		w := newWorld(t)
		w.write(".config/mcpx/config.json", `{"mcpServers":{},"daemon":{"rules":{"onError":"`+onError+`"}}}`)
		path := w.write(".config/mcpx/rules.json", `{"defualt":[]}`)
		l := w.loader()
		if r := l.Rules(); w.match(l, w.project) != want || !r.Broken || !r.Exists {
			t.Errorf("%s: sees %s, %+v", onError, w.match(l, w.project), r)
		}
		var said []string
		for _, p := range l.View(w.project).Problems {
			said = append(said, strings.TrimPrefix(p.Error(), w.home+"/")+" | "+p.Hint)
		}
		effect := map[string]string{"open": `as if there were no rules, every server is seen ("onError": "open")`, "closed": `no server is seen by anybody ("onError": "closed")`}
		if diff := cmp.Diff([]string{
			`.config/mcpx/rules.json: rules: cannot be used: until it is mended, ` + effect[onError] + ` | mend what is named below`,
			`.config/mcpx/rules.json:1:12: defualt: unknown key | did you mean default?`,
		}, said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", onError, diff)
		}
		must(t, os.WriteFile(path, []byte(`{"default":["a"]}`), 0o600))
		if problems := l.Reload(); w.match(l, w.project) != "a" || problems.HasErrors() {
			t.Errorf("%s, mended: sees %s, %v", onError, w.match(l, w.project), problems)
		}
		must(t, os.Remove(path))
		must(t, os.Symlink("/nowhere/rules.json", path))
		if l.Reload(); w.match(l, w.project) != want {
			t.Errorf("%s, a link to nothing: sees %s", onError, w.match(l, w.project))
		}
	}
}

func TestUnknownNamesInRulesAreWarnings(t *testing.T) {
	w := newWorld(t)
	w.write(".config/mcpx/config.json", `{"mcpServers":{"gopls":{"command":"gopls"},"bad":{"command":7}}}`)
	w.write("src/app/.mcpx.json", `{"mcpServers":{"theirs":{"command":"x"}}}`)
	w.write(".config/mcpx/rules.json", `{"default":["gopls","bad","theirs"],"rules":[{"path":"~/src/app","servers":["theirs","gopl"]}]}`)
	var said []string
	for _, p := range w.loader().View("").Problems {
		if p.Warning && strings.HasSuffix(p.File, "rules.json") {
			said = append(said, p.Field+": "+p.Msg+" | "+p.Hint)
		}
	}
	if diff := cmp.Diff([]string{
		`default[2]: no server is called "theirs" | there are: gopls, bad`,
		`rules[0].servers[1]: no server is called "gopl" | did you mean gopls?`,
	}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRulesAreWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".config/mcpx/config.json", naming("s"))
	l := w.loader()
	f := watching(t, l, fsnotify.NewWatcher, w.project)
	sees := func(what, want string) {
		t.Helper()
		for late := time.After(5 * time.Second); w.match(l, w.project) != want; {
			select {
			case <-f.changed:
			case <-late:
				t.Fatalf("%s: sees %s, want %s", what, w.match(l, w.project), want)
			}
		}
	}
	path := w.write(".config/mcpx/rules.json", `{"default":[]}`)
	sees("a document that was not there", "none")
	put(t, path, `{"default":["s"]}`)
	sees("a write in place", "s")
	put(t, path+".new", `{"rules":[{"path":"~/link","servers":["s"]}]}`)
	must(t, os.Rename(path+".new", path))
	sees("a rename over it", "all")
	must(t, os.Symlink(w.project, filepath.Join(w.home, "link")))
	sees("a link that a rule is for", "s")
	relink(t, "/nowhere", filepath.Join(w.home, "link"))
	sees("that link, swapped", "all")
	must(t, os.Remove(path))
	put(t, filepath.Join(w.home, "r2.json"), `{"default":[]}`)
	put(t, filepath.Join(w.o.Dirs.Config, "config.json"), `{"mcpServers":{"s":{"command":"x"}},"daemon":{"rules":{"path":"`+filepath.Join(w.home, "r2.json")+`"}}}`)
	sees("another place", "none")
	put(t, filepath.Join(w.home, "r2.json"), `{`)
	sees("one that broke", "all")
}

func TestAPathOfTheRulesMustBeWhole(t *testing.T) {
	w := newWorld(t)
	w.write(".config/mcpx/config.json", `{"mcpServers":{},"daemon":{"rules":{"path":"rules.json"}}}`)
	if r := w.loader().Rules(); !r.Broken {
		t.Errorf("a relative path: %+v", r)
	}
	_, problems := config.Parse("f", config.User, []byte(`{"mcpServers":{},"daemon":{"rules":{"path":"rules.json"}}}`))
	if len(problems) != 1 || problems[0].Field != "daemon.rules.path" {
		t.Errorf("problems: %v", problems)
	}
}
