// Package daemon joins the parts into the one process a user runs: sockets in,
// sessions and servers behind them, status and changes beside. What the parts
// decide is theirs; this package only introduces them to each other.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/auth"
	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/page"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/registry"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/socket"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/state"
)

// Options start a daemon.
type Options struct {
	Dirs        place.Dirs
	Explicit    []string // config files instead of the search; nil: search
	Autostarted bool     // by a shim: leaves when idle, and builds its own environment
	Supervised  bool     // by systemd or launchd: never leaves by itself
	Version     string
	Environ     []string // the base of children's environment unless Autostarted (design D15)
	Log         *slog.Logger

	// Sockets are listeners that systemd passed to us, by their names; nil: the
	// daemon binds its own.
	Sockets map[string]net.Listener
	// Notify tells whoever supervises what state we are in (sd_notify(3)); nil:
	// nobody does.
	Notify func(state string)
}

// Daemon is a running one.
type Daemon struct {
	o       Options
	epoch   string
	started time.Time
	runtime *socket.Runtime
	loader  *source.Loader
	limits  *pool.Limits
	servers *registry.Registry
	auth    *auth.Keeper // nil when its directory cannot be used
	table   *session.Table
	world   *world
	told    told                                    // problems in the log already
	environ func(context.Context) ([]string, error) // the base of children's environment
	calls   atomic.Int64                            // mints call ids
	hellos  chan struct{}                           // slots for long hellos in progress (threat T17)
	web     web                                     // the HTTP front
	pages   pages                                   // to look at in a browser

	stop func() // begins an orderly end; safe to call twice

	rereading sync.Mutex // held while the views follow the files
	choosing  sync.Mutex // held while a session's switch or roots are changed

	wg   sync.WaitGroup
	mu   sync.Mutex // guards what follows
	quit bool       // no new sessions
	idle time.Time  // since when no connection is open; zero while one is
	open map[*attached]struct{}
	far  int // sessions over HTTP
}

const (
	sessionGrace = 30 * time.Second // a session's own servers outlive its last connection by this (design D17)
	watchEvery   = 2 * time.Second  // how often the daemon looks whether its socket is still its own
	maxSessions  = 4096
	maxHellos    = 32
)

// ErrRunning is another daemon that holds the lock of the runtime directory.
var ErrRunning = errors.New("another daemon holds daemon.lock")

// Run runs a daemon until ctx ends, somebody stops it, or it has been idle for
// long enough; it returns when its children are gone.
func Run(ctx context.Context, o Options) error {
	rt, err := socket.OpenRuntime(o.Dirs.Runtime, true)
	if err != nil {
		return err
	}
	defer rt.Close()
	unlock, err := lock(ctx, rt, o.Sockets != nil)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reaping, endReaping := context.WithCancel(context.WithoutCancel(ctx))
	reaped, err := proc.Subreap(reaping)
	if err != nil {
		endReaping()
		return err
	}
	defer reaped()
	defer endReaping()
	d, err := assemble(ctx, o, rt, stop)
	if err != nil {
		return err
	}
	return d.run(ctx)
}

// assemble makes the parts; it starts nothing that outlives an error.
func assemble(ctx context.Context, o Options, rt *socket.Runtime, stop func()) (*Daemon, error) {
	stateDir, err := state.Open(o.Dirs.State)
	if err != nil {
		return nil, err
	}
	cacheDir, err := state.Open(o.Dirs.Cache)
	if err != nil { // what servers said of themselves is asked again then
		o.Log.Warn("kept no cache", "dir", o.Dirs.Cache, "err", err)
	}
	now := time.Now()
	d := &Daemon{
		o: o, started: now, idle: now, runtime: rt, stop: sync.OnceFunc(stop),
		epoch:  strconv.FormatInt(now.UnixMilli(), 36),
		hellos: make(chan struct{}, maxHellos),
		open:   map[*attached]struct{}{},
		loader: source.New(source.Options{Dirs: o.Dirs, Explicit: o.Explicit, State: stateDir}),
	}
	own := d.loader.View("")
	d.told.note(o.Log, own.Problems)
	environ, wait, err := base(ctx, o, own.Daemon)
	if err != nil {
		return nil, err
	}
	d.wg.Go(wait)
	mark, ended := marker(rt.Path(), d.epoch), make(chan struct{})
	d.wg.Go(func() {
		defer close(ended)
		d.endOrphans(ctx, mark)
	})
	d.environ = environ
	d.world = newWorld(d.loader)
	d.limits = pool.NewLimits(own.Daemon.MaxInstances, own.Daemon.MaxStarts)
	d.auth, err = auth.Open(auth.Options{Dir: filepath.Join(o.Dirs.State, "auth"), Changed: d.signedIn, Log: o.Log})
	if err != nil { // nobody signs in then; that is for the servers that want it to say
		o.Log.Warn("can keep no sign-in", "err", err)
	}
	d.servers = registry.New(registry.Options{
		Child:   child.Options{Home: o.Dirs.Home, Base: after(ended, environ), Grace: own.Daemon.StopGrace, Log: o.Log},
		Home:    o.Dirs.Home,
		Tokens:  d.tokens,
		Verify:  d.loader.Verify,
		Cache:   cacheDir,
		Limits:  d.limits,
		Version: o.Version,
		Marker:  mark,
		Roots:   d.softRoots,
		Asks:    d.asks,
		Changed: d.listsChanged,
		Log:     o.Log,
	})
	d.table = session.NewTable(sessionGrace, d.servers.EndSession, d.servers.ResumeSession)
	return d, nil
}

// run serves until the end, then takes everything down in order: no new
// sessions, shims told, calls ended, children stopped, sockets gone.
func (d *Daemon) run(ctx context.Context) error {
	control, err := d.listen(socket.Control)
	if err != nil {
		return errors.Join(err, d.servers.Close(ctx))
	}
	attach, err := d.listen(socket.Attach) // last: whoever can attach can also ask for status
	if err != nil {
		return errors.Join(err, control.Close(), d.servers.Close(ctx))
	}
	page.Sweep(d.runtime.Path())
	d.openFront()
	attachHTTP, controlHTTP := d.attachServer(), d.controlServer()
	d.serve(controlHTTP, control)
	d.serve(attachHTTP, attach)
	d.wg.Go(func() { d.watch(ctx, attach, control) })
	d.wg.Go(func() {
		d.loader.Watch(ctx, source.WatchOptions{Live: d.liveDirs, Changed: d.follow, Log: d.o.Log})
	})
	d.o.Log.Info("started daemon", "pid", os.Getpid(), "dir", d.runtime.Path())
	d.notify("READY=1\nSTATUS=serves " + d.runtime.Path())

	<-ctx.Done()
	began := time.Now()
	d.notify("STOPPING=1\nSTATUS=stops its servers")
	d.pages.close()
	var fronts sync.WaitGroup
	fronts.Go(d.closeFront)
	d.drain()
	fronts.Wait()
	if d.o.Sockets == nil {
		_ = attachHTTP.Close()
	} // else who dials is told to come back: left waiting, systemd would start the next daemon for him
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	if d.auth != nil {
		d.auth.Close()
	}
	err = d.servers.Close(bounded)
	_ = attachHTTP.Close()
	d.hangUp(controlHTTP) // last, so that a caller of stop sees the end when it is one
	d.wg.Wait()
	d.o.Log.Info("stopped daemon", "took", time.Since(began).Round(time.Millisecond))
	return err
}

func (d *Daemon) serve(s *http.Server, l net.Listener) {
	d.wg.Go(func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			d.o.Log.Error("lost socket", "err", err)
			d.stop()
		}
	})
}

// hangUp lets answers in progress be read, but waits for no follower of a log.
func (d *Daemon) hangUp(s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
}

// watch ends a daemon whose sockets' paths are no longer its own, or that
// nobody has used for daemon.idleExit (design D13).
func (d *Daemon) watch(ctx context.Context, attach, control net.Listener) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if !d.runtime.Owned(socket.Attach, attach) || !d.runtime.Owned(socket.Control, control) {
				d.o.Log.Warn("lost socket", "err", "its path belongs to somebody else now")
				d.stop()
				return
			}
			if d.idleFor(now) > d.idleExit() && (d.auth == nil || !d.auth.Busy()) && !d.pages.watched() {
				d.o.Log.Info("left idle", "took", d.idleFor(now).Round(time.Second))
				d.stop()
				return
			}
		}
	}
}

// idleExit is how long without connections is long enough.
func (d *Daemon) idleExit() time.Duration {
	const never = time.Duration(1<<63 - 1)
	after := d.loader.View("").Daemon.IdleExit
	if !d.o.Autostarted || d.o.Supervised || after == 0 || d.web.front != nil { // nobody starts a daemon over HTTP
		return never
	}
	return after
}

func (d *Daemon) idleFor(now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle.IsZero() {
		return 0
	}
	return now.Sub(d.idle)
}

// softRoots are the roots of the session that owns a key.
func (d *Daemon) softRoots(key string) []roots.Root {
	if c := d.table.Owner(key); c != nil {
		return roots.Offered(c.SoftRoots(), d.o.Dirs.Home)
	}
	return nil
}

// asks is what the session that owns a key lets a server ask it; for the key of
// a single call, the session that makes it.
func (d *Daemon) asks(key string, cc scope.CallContext) []byte {
	c := d.table.Owner(key)
	if c == nil {
		c = d.table.Owner(scope.Session.Key(cc))
	}
	if c == nil {
		return nil
	}
	return c.Asks()
}

func (d *Daemon) listsChanged(def config.Definition, kinds []string) {
	for _, c := range d.table.All() {
		c.ListsChanged(def, kinds)
	}
}

// callID mints the id of one call.
func (d *Daemon) callID() string { return d.epoch + "-" + strconv.FormatInt(d.calls.Add(1), 10) }
