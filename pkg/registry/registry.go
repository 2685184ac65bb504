// Package registry maps definitions to pools: it resolves scopes, plans and
// dials instances, keeps what servers said (eras, catalogues), and compares
// definitions when the config changes.
package registry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/remote"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/state"
)

// Options are the daemon's.
type Options struct {
	Child   child.Options // Marker and OnStderr are filled in per instance
	Home    string
	Tokens  func(s *config.Resolved) remote.Tokens // the sign-in at a remote; nil: nobody can sign in
	Verify  func(*config.Resolved) error           // whether a project's server still is what was trusted; nil: it is
	Cache   *state.Dir                             // eras and catalogues; nil: they are kept in memory only
	Limits  *pool.Limits                           // needed
	Version string
	Marker  string                                        // "<hash of runtime dir>.<epoch>"
	Roots   func(key string) []roots.Root                 // soft roots of the session that owns key; nil when unknown
	Asks    func(key string, cc scope.CallContext) []byte // what the session that owns key lets a server ask it, as upstream.Options has it
	Changed func(def config.Definition, kinds []string)   // a server's lists differ from what was kept before, or nothing was; it must not block
	Log     *slog.Logger
}

const (
	reapEvery   = 5 * time.Second
	retireGrace = 30 * time.Second // for calls on a changed definition (design D17)
	maxMemo     = 4096             // entries of each map that only saves work or log lines
)

// Registry holds the pools of a daemon.
type Registry struct {
	o    Options
	log  *slog.Logger
	eras *eras
	logs *logs

	turns mux.Turns // of all sessions, at whatever server

	life context.Context // ends when Close begins
	end  context.CancelFunc
	wg   sync.WaitGroup // the reaper and the retirements

	mu       sync.Mutex // guards what follows; before a pool's own lock, never after
	closed   bool
	servers  map[config.Definition]*server
	memo     map[*config.Resolved]*server // saves hashing a definition at each call
	leaving  map[*server]struct{}         // out of servers, and not gone yet
	degraded map[degradation]struct{}     // already in the log
}

// server is all there is of one definition.
type server struct {
	r    *Registry
	def  config.Definition
	conf config.Resolved
	pool *pool.Pool
	kept shelf

	rooted, rootless atomic.Bool // it asks for its roots as it starts, or it does not

	bounds bounds // of all views seen; guarded by r.mu
}

// degradation is a narrower key than asked for, as the log tells it once.
type degradation struct{ server, reason, dir string }

// New makes an empty registry. It reaps idle instances until Close.
func New(o Options) *Registry {
	r := &Registry{
		o: o, log: o.Log, logs: newLogs(),
		servers: map[config.Definition]*server{}, memo: map[*config.Resolved]*server{},
		leaving: map[*server]struct{}{}, degraded: map[degradation]struct{}{},
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.eras = openEras(o.Cache, r.log)
	r.life, r.end = context.WithCancel(context.Background())
	r.wg.Go(r.reap)
	return r
}

// reap stops idle instances of all pools, now and then.
func (r *Registry) reap() {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.life.Done():
			return
		case now := <-tick.C:
			for _, sv := range r.all() {
				sv.pool.ReapIdle(now)
			}
		}
	}
}

// Acquire resolves the server's scope for cc and leases its instance: the one
// resolution path (record 0004 §2). A key that is narrower than the scope asks
// for is logged once per server, reason and directory.
func (r *Registry) Acquire(ctx context.Context, s *config.Resolved, cc scope.CallContext) (*pool.Lease, error) {
	rs := s.Scope.Resolve(cc)
	r.noteDegraded(s.Name, rs, cc.Cwd)
	for {
		sv, err := r.server(s)
		if err != nil {
			return nil, err
		}
		l, err := sv.pool.Acquire(ctx, rs, cc)
		switch {
		case errors.Is(err, pool.ErrRetired): // the config changed in between; the next look-up makes a new pool
		case err != nil || standing(l):
			return l, err
		default:
			l.Release()
			r.log.Info("left replaced directory", "server", s.Name, "key", rs.Key, "root", rs.Root)
			sv.pool.Stop(ctx, rs.Key)
		}
	}
}

// standing reports whether a leased instance is still where its key says.
func standing(l *pool.Lease) bool {
	in, ok := l.Upstream().(*instance)
	return !ok || in.stands()
}

// Running leases the instance for key to session if it is up, without starting or waiting:
// the path of a warm call.
func (r *Registry) Running(s *config.Resolved, key, session string) (*pool.Lease, bool) {
	sv, err := r.server(s)
	if err != nil {
		return nil, false
	}
	l, ok := sv.pool.Running(key, session)
	if ok && !standing(l) {
		l.Release() // Acquire replaces it
		return nil, false
	}
	return l, ok
}

// server is the definition's, made at the first look-up.
func (r *Registry) server(s *config.Resolved) (*server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sv := r.memo[s]; sv != nil {
		return sv, nil
	}
	if r.closed {
		return nil, pool.ErrClosed
	}
	def := s.Definition()
	sv := r.servers[def]
	if sv == nil {
		sv = &server{r: r, def: def, conf: *s}
		sv.pool = pool.New(*s, pool.Options{Dial: sv.dial, Limits: r.o.Limits, Log: r.log})
		r.servers[def] = sv
	}
	sv.limit(sv.bounds.narrower(s.Max, s.IdleTimeout))
	if len(r.memo) >= maxMemo {
		clear(r.memo)
	}
	r.memo[s] = sv
	return sv, nil
}

// all are the servers, those that are leaving included.
func (r *Registry) all() []*server {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*server, 0, len(r.servers)+len(r.leaving))
	for _, sv := range r.servers {
		all = append(all, sv)
	}
	for sv := range r.leaving {
		all = append(all, sv)
	}
	return all
}

func (r *Registry) noteDegraded(server string, rs scope.ResolvedScope, dir string) {
	if rs.Degraded == "" {
		return
	}
	d := degradation{server, rs.Degraded, dir}
	r.mu.Lock()
	_, told := r.degraded[d]
	if len(r.degraded) >= maxMemo {
		clear(r.degraded)
	}
	r.degraded[d] = struct{}{}
	r.mu.Unlock()
	if !told {
		r.log.Info("degraded scope", "server", server, "key", rs.Key, "dir", dir, "err", rs.Degraded)
	}
}

// Close stops every instance and waits. Once ctx ends the stops are no longer
// patient.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	all := r.all()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, sv := range all {
		wg.Go(func() { errs[i] = sv.pool.Close(ctx) })
	}
	wg.Wait()
	r.wg.Wait()
	r.logs.close()
	return errors.Join(errs...)
}
