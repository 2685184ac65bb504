package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// WatchOptions say who wants to hear of changes.
type WatchOptions struct {
	Live    func() []string // directories where sessions stand; other views are forgotten in time
	Changed func()          // the bytes of a file changed: Reload reads something new. Not called twice at once
	Log     *slog.Logger
}

const (
	quiet      = 100 * time.Millisecond // without an event, before files are read again
	impatient  = time.Second            // since the first event, however many follow
	steady     = 25 * time.Millisecond  // between two readings that must agree
	hollow     = 500 * time.Millisecond // the same while a file is empty: its writer may be slow
	pollEvery  = 30 * time.Second       // where the system refuses to tell
	maxWatches = 1024                   // directories
)

// Watch tells of every change to a file that a view was made from, or would be
// if it were there, and to any link on the way to one, until ctx ends. However a
// file is replaced, it is the bytes that count: equal ones change nothing
// (reports K3, F12).
func (l *Loader) Watch(ctx context.Context, o WatchOptions) {
	w := &watch{l: l, o: o, open: fsnotify.NewWatcher, known: map[string]bool{}}
	w.run(ctx)
}

// watch belongs to one goroutine.
type watch struct {
	l    *Loader
	o    WatchOptions
	open func() (*fsnotify.Watcher, error)

	fs      *fsnotify.Watcher // nil when the system has none for us
	spots   spots             // what is watched
	polling bool
	known   map[string]bool // directories with a view, the time before
}

func (w *watch) run(ctx context.Context) {
	events, errs := w.start()
	if w.fs != nil {
		defer w.fs.Close()
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	due := time.NewTimer(0)
	defer due.Stop()
	var first time.Time // of the events since the last look; zero: none
	for {
		select {
		case <-ctx.Done():
			return
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if !w.concerns(ev.Name) {
				continue
			}
		case _, ok := <-errs: // events were lost
			if !ok {
				errs = nil
				continue
			}
		case <-w.l.news:
		case <-poll.C:
			if !w.polling {
				continue
			}
		case <-due.C:
			first = time.Time{}
			w.look(ctx)
			continue
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		due.Reset(min(quiet, max(0, impatient-now.Sub(first))))
	}
}

func (w *watch) start() (<-chan fsnotify.Event, <-chan error) {
	var err error
	if w.fs, err = w.open(); err != nil {
		w.fs = nil
		w.poll(err)
		return nil, nil
	}
	return w.fs.Events, w.fs.Errors
}

// concerns reports whether an event is of what is looked for, or of one of the
// directories themselves.
func (w *watch) concerns(path string) bool {
	return w.spots[path] != nil || w.spots[filepath.Dir(path)][filepath.Base(path)]
}

// look tells of a change if there is one that stays.
func (w *watch) look(ctx context.Context) {
	w.forget()
	w.arm()
	now := w.l.now()
	if now == w.l.held() {
		return
	}
	for range 40 { // a file that is being written says something else a moment later
		wait := steady
		if strings.Contains(now, sumOfNothing) {
			wait = hollow
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		before := now
		if now = w.l.now(); now == before {
			break
		}
	}
	if now != w.l.held() {
		w.o.Changed()
		w.arm()
	}
}

// forget drops views where no session stands now nor stood at the last look.
func (w *watch) forget() {
	live := w.o.Live()
	w.l.forgetPlaces(func(dir string) bool { return !w.known[dir] || slices.Contains(live, dir) })
	clear(w.known)
	for dir := range w.l.places(w.l.generation()) {
		w.known[dir] = true
	}
}

// arm watches what is to be watched now. The way is walked again when it stands
// watched: it may have changed in between.
func (w *watch) arm() {
	for range 5 {
		s := trail(w.l.followed(), w.l.home, lstat)
		same := sameDirs(s, w.spots)
		w.spots = s
		if w.fs == nil || w.set() == nil && same {
			return
		}
	}
}

// set makes the system's list ours. Adding again what is there already renews
// the watch of a directory that another took the place of.
func (w *watch) set() error {
	dirs := slices.Sorted(maps.Keys(w.spots))
	for _, dir := range w.fs.WatchList() {
		if w.spots[dir] == nil {
			_ = w.fs.Remove(dir) // it may be gone already
		}
	}
	var refused error
	if len(dirs) > maxWatches {
		refused = fmt.Errorf("%d directories are more than the %d that are watched", len(dirs), maxWatches)
		dirs = dirs[:maxWatches]
	}
	var missed error
	for _, dir := range dirs {
		switch err := w.fs.Add(dir); {
		case errors.Is(err, fs.ErrNotExist):
			missed = err // gone since it was seen: walk again
		case err != nil:
			refused = fmt.Errorf("%s: %w", dir, err)
		}
	}
	w.poll(refused)
	return missed
}

// poll makes the files be read now and then where the system does not tell of
// changes, and says so once.
func (w *watch) poll(refused error) {
	if refused != nil && !w.polling {
		hint := ""
		if errors.Is(refused, syscall.ENOSPC) || errors.Is(refused, syscall.EMFILE) {
			hint = " (raise fs.inotify.max_user_watches or max_user_instances)"
		}
		w.o.Log.Warn("fell back to reading files now and then", "err", refused.Error()+hint)
	}
	w.polling = refused != nil
}

func lstat(path string) entry {
	target, err := os.Readlink(path)
	if err == nil {
		return entry{exists: true, link: target}
	}
	_, err = os.Lstat(path)
	return entry{exists: err == nil}
}

func sameDirs(a, b spots) bool {
	if len(a) != len(b) {
		return false
	}
	for dir := range a {
		if b[dir] == nil {
			return false
		}
	}
	return true
}
