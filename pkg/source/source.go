// Package source finds, trusts and reads config files. What they mean is
// config's business; that nothing untrusted has a say is this package's.
package source

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/state"
)

// Options say where to look.
type Options struct {
	Dirs     place.Dirs
	Explicit []string   // --config or MCPX_CONFIG of a daemon started by hand; replaces the search
	State    *state.Dir // trust; nil: nothing is trusted
	System   string     // "" means /etc/mcpx/config.json
}

// Loader reads views and remembers them until Reload. It is safe for concurrent
// use.
type Loader struct {
	o    Options
	home string // canonical

	editing  sync.Mutex // held while the rules document is read, changed and written
	deciding sync.Mutex // held while trust.json is read, changed and written

	news chan struct{} // has one when a directory got its first view; for Watch

	mu   sync.RWMutex // guards what follows; never held while files are read
	gen  *generation
	good map[string]*config.File // what each own file said when it last could be read
}

// generation is what was read since the last Reload. All views of one
// generation see the same content of each file. Its maps are guarded by the
// loader's mu.
type generation struct {
	own    *ownFiles
	views  map[string]*config.Config // by directory
	places map[string]standing       // by directory
	same   map[string]*config.Config // by the project files that take part
}

// standing is what a directory's view was made from.
type standing struct {
	key      string   // of its project files
	programs []string // files of theirs that trust depends on
}

// New makes a loader. It reads nothing yet. Relative explicit files are
// relative to where the process stands now.
func New(o Options) *Loader {
	o.Explicit = slices.Clone(o.Explicit)
	for i, path := range o.Explicit {
		if abs, err := filepath.Abs(path); err == nil {
			o.Explicit[i] = abs
		}
	}
	if o.System == "" {
		o.System = "/etc/mcpx/config.json"
	}
	home := o.Dirs.Home
	if real, err := canon.Path(home); err == nil {
		home = real
	}
	return &Loader{o: o, home: home, news: make(chan struct{}, 1), gen: newGeneration(), good: map[string]*config.File{}}
}

func newGeneration() *generation {
	return &generation{views: map[string]*config.Config{}, places: map[string]standing{}, same: map[string]*config.Config{}}
}

// View is the config of a session in dir ("" = none). It never fails: problems
// are in the view, and a user file that broke keeps its last good content. The
// view is shared and must not be changed.
func (l *Loader) View(dir string) *config.Config {
	l.mu.RLock()
	gen, view := l.gen, l.gen.views[dir]
	l.mu.RUnlock()
	if view == nil {
		view = l.build(gen, dir)
	}
	return view
}

// Reload forgets the views; the next View reads again. It returns the problems
// of the user's own files.
func (l *Loader) Reload() config.Problems {
	return l.ownFiles(l.forget()).problems
}

// forget begins a new generation.
func (l *Loader) forget() *generation {
	gen := newGeneration()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gen = gen
	return gen
}

// build reads what dir's view needs. Two callers may build the same view at
// once; both then get the one that was kept first.
func (l *Loader) build(gen *generation, dir string) *config.Config {
	own := l.ownFiles(gen)
	found := l.projectFiles(dir, own)
	key := found.key()

	l.mu.RLock()
	view := gen.same[key]
	l.mu.RUnlock()
	if view == nil {
		view = join(own, found)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	if kept := gen.same[key]; kept != nil {
		view = kept
	}
	gen.same[key] = view
	gen.views[dir] = view
	gen.places[dir] = standing{key: key, programs: found.programs(own.trust)}
	select {
	case l.news <- struct{}{}:
	default:
	}
	return view
}

// join makes the view. An untrusted file adds its servers' names and nothing
// else (threat T6).
func join(own *ownFiles, found projectFiles) *config.Config {
	files := append(found.inForce(), own.files...)
	view := config.Merge(files...)
	view.Problems = append(view.Problems, own.extra...)
	named := map[string]bool{}
	for _, f := range files {
		for _, name := range f.Names() {
			named[name] = true
		}
	}
	for _, p := range found {
		if p.problem != nil {
			view.Problems = append(view.Problems, *p.problem)
		}
		if p.file == nil || p.file.Trusted {
			continue
		}
		for _, name := range p.file.Config.Names() {
			if !named[name] {
				named[name] = true
				view.Untrusted = append(view.Untrusted, config.Untrusted{Name: name, File: p.file.Path})
			}
		}
	}
	return view
}

// key names what makes a view: directories with the same project files share
// one.
func (ps projectFiles) key() string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.path)
		b.WriteByte(0)
		if p.file != nil {
			b.WriteString(p.file.SHA256)
			if p.file.Trusted {
				b.WriteByte('+')
			}
		}
		if p.problem != nil {
			b.WriteString(p.problem.Msg)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// ownFiles are the user's, the system's or the explicit ones, and what the user
// trusts.
type ownFiles struct {
	files    []*config.File  // in force, nearest first
	real     map[string]bool // their canonical paths
	trust    *trusted
	rules    *Rules
	print    string          // of the bytes that were read
	extra    config.Problems // those that files do not carry themselves
	problems config.Problems // all of them
}

// ownFiles reads them once per generation.
func (l *Loader) ownFiles(gen *generation) *ownFiles {
	l.mu.RLock()
	own, good := gen.own, maps.Clone(l.good)
	l.mu.RUnlock()
	if own != nil {
		return own
	}
	own = l.readOwn(good)

	l.mu.Lock()
	defer l.mu.Unlock()
	if gen.own == nil {
		gen.own = own
		if gen == l.gen {
			l.good = good
		}
	}
	return gen.own
}
