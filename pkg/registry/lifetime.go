package registry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
)

// EndSession stops the instances whose key the session owned, once grace has
// passed without a call to them (design D17).
func (r *Registry) EndSession(keys []string, grace time.Duration) {
	now := time.Now()
	for _, sv := range r.all() {
		for _, key := range keys {
			sv.pool.Orphan(key, now.Add(grace))
		}
		if grace <= 0 {
			sv.pool.ReapIdle(now)
		}
	}
}

// ResumeSession takes EndSession back: a session has returned within grace.
func (r *Registry) ResumeSession(keys []string) {
	for _, sv := range r.all() {
		for _, key := range keys {
			sv.pool.Adopt(key)
		}
	}
}

// RootsChanged tells the instances of a caller-owned key to ask for roots again.
func (r *Registry) RootsChanged(key string) {
	for _, sv := range r.all() {
		for _, i := range sv.pool.Snapshot() {
			if in, ok := i.Upstream.(*instance); ok && i.Key == key {
				in.conn.RootsChanged()
			}
		}
	}
}

// Restart stops the instances of server and key ("" = any) and clears their
// back-off; the next call starts them. It returns how many were stopped, when
// they are gone or ctx ends.
func (r *Registry) Restart(ctx context.Context, server, key string) int {
	var stopped atomic.Int64
	var wg sync.WaitGroup
	for _, sv := range r.all() {
		if server == "" || sv.conf.Name == server {
			wg.Go(func() { stopped.Add(int64(sv.pool.Stop(ctx, key))) })
		}
	}
	wg.Wait()
	return int(stopped.Load())
}

// bounds are what may differ between views of one definition.
type bounds struct {
	max  int
	idle time.Duration // 0 = never
}

// narrower is the smaller of each (design §3).
func (b bounds) narrower(max int, idle time.Duration) bounds {
	if b.max == 0 || max < b.max {
		b.max = max
	}
	if b.idle == 0 || idle != 0 && idle < b.idle {
		b.idle = idle
	}
	return b
}

// limit sets the pool's limits. Needs the registry's lock.
func (sv *server) limit(b bounds) {
	if b != sv.bounds {
		sv.bounds = b
		sv.pool.SetLimits(b.max, b.idle)
	}
}

// Keep retires pools whose definition is in no live view and sets limits from
// the views that remain. Calls in flight on a retired one may end within 30 s;
// an unchanged definition keeps its processes.
func (r *Registry) Keep(live []*config.Resolved) {
	wanted := map[config.Definition]bounds{}
	views := map[*config.Resolved]bool{}
	for _, s := range live {
		def := s.Definition()
		wanted[def] = wanted[def].narrower(s.Max, s.IdleTimeout)
		views[s] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for def, sv := range r.servers {
		if b, ok := wanted[def]; ok {
			sv.limit(b)
		} else {
			r.retire(sv)
		}
	}
	for s, sv := range r.memo {
		if r.servers[sv.def] != sv || !views[s] {
			delete(r.memo, s)
		}
	}
}

// retire takes the server out and lets it end in the background. Needs the lock.
func (r *Registry) retire(sv *server) {
	delete(r.servers, sv.def)
	r.leaving[sv] = struct{}{}
	r.wg.Go(func() {
		sv.pool.Retire(r.life, retireGrace)
		r.mu.Lock()
		delete(r.leaving, sv)
		r.mu.Unlock()
	})
}
