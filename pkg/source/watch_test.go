package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched is a loader whose files are watched until the test ends.
type watched struct {
	t       *testing.T
	l       *Loader
	w       *watch
	changed chan struct{}
	reloads atomic.Int32
	log     strings.Builder // to be read when the watch has ended
	end     func()
}

// watching starts when the views of dirs stand.
func watching(t *testing.T, l *Loader, open func() (*fsnotify.Watcher, error), dirs ...string) *watched {
	t.Helper()
	f := &watched{t: t, l: l, changed: make(chan struct{}, 1000)}
	views := func() {
		l.View("")
		for _, dir := range dirs {
			l.View(dir)
		}
	}
	views()
	ctx, cancel := context.WithCancel(t.Context())
	f.w = &watch{l: l, open: open, known: map[string]bool{}, o: WatchOptions{
		Live: func() []string { return dirs },
		Changed: func() {
			f.reloads.Add(1)
			l.Reload()
			views()
			f.changed <- struct{}{}
		},
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	}}
	var wg sync.WaitGroup
	wg.Go(func() { f.w.run(ctx) })
	f.end = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(f.end)
	return f
}

// sees waits for the view of dir to have exactly this server.
func (f *watched) sees(dir, server string) {
	f.t.Helper()
	late := time.After(2 * time.Second)
	for {
		if names := f.l.View(dir).Names; len(names) == 1 && names[0] == server || server == "" && len(names) == 0 {
			return
		}
		select {
		case <-f.changed:
		case <-late:
			f.t.Fatalf("after 2 s the view still has %v, want %q", f.l.View(dir).Names, server)
		}
	}
}

func naming(name string) string { return fmt.Sprintf(`{"mcpServers": {%q: {"command": "x"}}}`, name) }

func put(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

// relink is ln -sfn by way of a rename.
func relink(t *testing.T, target, link string) {
	t.Helper()
	must(t, os.Symlink(target, link+".new"))
	must(t, os.Rename(link+".new", link))
}

func TestEveryWayOfReplacingAFileIsSeenAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := filepath.Join(w.o.Dirs.Config, "config.json")
	put(t, own, naming("s0"))
	f := watching(t, w.loader(), fsnotify.NewWatcher)
	gens := filepath.Join(w.o.Dirs.Home, "gens")
	n := 0
	next := func() string { n++; return fmt.Sprintf("s%d", n) }
	steps := []struct {
		name string
		do   func(name string)
	}{
		{"in-place write", func(name string) { put(t, own, naming(name)) }},
		{"rename over", func(name string) {
			put(t, own+".tmp", naming(name))
			must(t, os.Rename(own+".tmp", own))
		}},
		{"delete and create", func(name string) {
			must(t, os.Remove(own))
			f.sees("", "")
			put(t, own, naming(name))
		}},
		{"a link, swapped", func(name string) {
			put(t, filepath.Join(gens, name, "config.json"), naming(name))
			relink(t, filepath.Join(gens, name, "config.json"), own)
		}},
		{"a link two deep, swapped", func(name string) {
			put(t, filepath.Join(gens, name, "config.json"), naming(name))
			relink(t, name, filepath.Join(gens, "current"))
			if target, _ := os.Readlink(own); !strings.Contains(target, "current") {
				relink(t, filepath.Join(gens, "current", "config.json"), own)
			}
		}},
		{"in-place write behind links", func(name string) { put(t, own, naming(name)) }},
		{"the directory, renamed over", func(name string) {
			put(t, filepath.Join(w.o.Dirs.Config+".new", "config.json"), naming(name))
			must(t, os.Rename(w.o.Dirs.Config, w.o.Dirs.Config+"."+name))
			must(t, os.Rename(w.o.Dirs.Config+".new", w.o.Dirs.Config))
		}},
		{"the directory above it, removed and made again", func(name string) {
			must(t, os.RemoveAll(filepath.Dir(w.o.Dirs.Config)))
			f.sees("", "")
			put(t, own, naming(name))
		}},
	}
	for _, step := range steps {
		for i := range 2 {
			t.Run(fmt.Sprintf("%s %d", step.name, i+1), func(t *testing.T) {
				name := next()
				step.do(name)
				f.sees("", name)
			})
		}
	}
}

func TestIdenticalBytesReloadNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := filepath.Join(w.o.Dirs.Config, "config.json")
	put(t, own, naming("same"))
	f := watching(t, w.loader(), fsnotify.NewWatcher)
	for i := range 100 {
		if i%2 == 0 {
			put(t, own, naming("same"))
			continue
		}
		put(t, own+".tmp", naming("same"))
		must(t, os.Rename(own+".tmp", own))
	}
	put(t, own, naming("other"))
	f.sees("", "other")
	if got := f.reloads.Load(); got != 1 {
		t.Errorf("%d reloads, want 1: of the last write", got)
	}
}

// A writer may be slow between emptying a file and filling it.
func TestAFileThatIsBeingWrittenIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := filepath.Join(w.o.Dirs.Config, "config.json")
	put(t, own, naming("s0"))
	f := watching(t, w.loader(), fsnotify.NewWatcher)
	put(t, own, "")
	time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(own, []byte(naming("s1")), 0o644) })
	f.sees("", "s1")
	if got := f.reloads.Load(); got != 1 {
		t.Errorf("%d reloads, want 1", got)
	}
}

func TestFilesThatAppearAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := filepath.Join(w.o.Dirs.Home, "src", "shop")
	must(t, os.MkdirAll(filepath.Join(shop, "api"), 0o755))
	f := watching(t, w.loader(), fsnotify.NewWatcher, filepath.Join(shop, "api"))
	own := filepath.Join(w.o.Dirs.Config, "config.json")
	put(t, own, naming("user"))
	f.sees("", "user")
	must(t, os.Remove(own))
	f.sees("", "")
	for range 2 {
		project := filepath.Join(shop, ".mcpx.json")
		put(t, project, naming("idx"))
		f.untrusted(filepath.Join(shop, "api"), 1)
		must(t, os.Remove(project))
		f.untrusted(filepath.Join(shop, "api"), 0)
	}
}

// untrusted waits for the view of dir to have n untrusted servers.
func (f *watched) untrusted(dir string, n int) {
	f.t.Helper()
	late := time.After(2 * time.Second)
	for len(f.l.View(dir).Untrusted) != n {
		select {
		case <-f.changed:
		case <-late:
			f.t.Fatalf("after 2 s %d servers are untrusted, want %d", len(f.l.View(dir).Untrusted), n)
		}
	}
}

func TestAChangedProgramOfATrustedFileIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := filepath.Join(w.o.Dirs.Home, "shop")
	project, script := filepath.Join(shop, ".mcpx.json"), filepath.Join(shop, "tools", "idx.sh")
	put(t, project, `{"mcpServers": {"idx": {"command": "sh", "args": ["tools/idx.sh"]}}}`)
	put(t, script, "one")
	l := w.loader()
	read, _, err := l.ReadProject(project)
	must(t, err)
	must(t, l.Trust(project, read.SHA256))
	f := watching(t, l, fsnotify.NewWatcher, shop)
	f.sees(shop, "idx")
	for range 2 {
		put(t, script, "two")
		f.untrusted(shop, 1)
		put(t, script, "one")
		f.sees(shop, "idx")
	}
}

func TestABrokenFileIsToldOnceAndTheOldStaysInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := filepath.Join(w.o.Dirs.Config, "config.json")
	put(t, own, naming("good"))
	f := watching(t, w.loader(), fsnotify.NewWatcher)
	put(t, own, "{broken")
	<-f.changed
	view := f.l.View("")
	if len(view.Problems) == 0 || view.Names[0] != "good" {
		t.Errorf("problems %v, names %v", view.Problems, view.Names)
	}
	put(t, own, naming("mended"))
	f.sees("", "mended")
	if got := f.reloads.Load(); got != 2 {
		t.Errorf("%d reloads, want 2", got)
	}
}

// The number of watches is that of directories on the way (report K2).
func TestWatchesDoNotGrowWithAStore(t *testing.T) {
	t.Parallel()
	count := func(entries int) int {
		w := newWorld(t)
		store := filepath.Join(w.o.Dirs.Home, "store")
		put(t, filepath.Join(store, "abc-config.json"), naming("s0"))
		for i := range entries {
			put(t, filepath.Join(store, fmt.Sprint(i)), "")
		}
		must(t, os.MkdirAll(w.o.Dirs.Config, 0o755))
		must(t, os.Symlink(filepath.Join(store, "abc-config.json"), filepath.Join(w.o.Dirs.Config, "config.json")))
		f := watching(t, w.loader(), fsnotify.NewWatcher)
		put(t, filepath.Join(store, "def-config.json"), naming("s1"))
		relink(t, filepath.Join(store, "def-config.json"), filepath.Join(w.o.Dirs.Config, "config.json"))
		f.sees("", "s1")
		f.end()
		return len(f.w.spots)
	}
	if few, many := count(10), count(2000); few != many || many > 12 {
		t.Errorf("%d directories watched for 10 entries, %d for 2,000", few, many)
	}
}

func TestViewsThatNobodyUsesAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.loader()
	x := &watch{l: l, known: map[string]bool{}, o: WatchOptions{Live: func() []string { return []string{"/live"} }}}
	for _, dir := range []string{"", "/live", "/left"} {
		l.View(dir)
	}
	x.forget()
	if n := len(l.places(l.generation())); n != 3 {
		t.Errorf("%d views after the first look, want 3: a session may be about to stand there", n)
	}
	x.forget()
	if _, left := l.places(l.generation())["/left"]; left {
		t.Error("a view where no session stands is kept")
	}
	if _, live := l.places(l.generation())["/live"]; !live {
		t.Error("a view where a session stands is forgotten")
	}
}

func TestWithoutWatchesFilesAreReadNowAndThen(t *testing.T) {
	w := newWorld(t)
	own := filepath.Join(w.o.Dirs.Config, "config.json")
	put(t, own, naming("s0"))
	synctest.Test(t, func(t *testing.T) {
		f := watching(t, w.loader(), func() (*fsnotify.Watcher, error) {
			return nil, fmt.Errorf("inotify: %w", errors.Join(syscall.ENOSPC))
		})
		time.Sleep(time.Second)
		for i := range 2 {
			put(t, own, naming(fmt.Sprintf("t%d", i)))
			began := time.Now()
			<-f.changed
			if took := time.Since(began); took > pollEvery+time.Second {
				t.Errorf("seen after %v", took)
			}
		}
		f.end()
		if got := strings.Count(f.log.String(), "level=WARN"); got != 1 || !strings.Contains(f.log.String(), "max_user_watches") {
			t.Errorf("%d warnings, want 1 that says what to raise:\n%s", got, f.log.String())
		}
	})
}
