package pool

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/scope"
)

// world is where fake servers run. It counts what the limits are about.
type world struct {
	limits *Limits
	starts time.Duration // how long a start takes
	stops  time.Duration // how long a stop takes

	mu           sync.Mutex
	refuse       error // what the next starts fail with
	dials        []string
	origins      []scope.CallContext
	running      map[string]*server // by id
	starting     int
	mostStarting int
	mostRunning  int
	mostOfPool   map[string]int
}

func newWorld(maxInstances, maxStarts int) *world {
	return &world{
		limits:  NewLimits(maxInstances, maxStarts),
		starts:  time.Second,
		running: map[string]*server{}, mostOfPool: map[string]int{},
	}
}

// pool makes a pool in the world; edit changes the definition first.
func (w *world) pool(t *testing.T, name string, edit func(*config.Resolved)) *Pool {
	t.Helper()
	def := config.Resolved{
		Name: name, Scope: scope.Cwd, Sharing: config.Shared, Max: 4,
		IdleTimeout: 5 * time.Minute, StartTimeout: time.Minute,
	}
	if edit != nil {
		edit(&def)
	}
	p := New(def, Options{Limits: w.limits, Dial: func(ctx context.Context, id string, rs scope.ResolvedScope, cc scope.CallContext) (Upstream, error) {
		return w.dial(ctx, name, id, rs, cc)
	}})
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

func (w *world) dial(ctx context.Context, pool, id string, rs scope.ResolvedScope, cc scope.CallContext) (Upstream, error) {
	s := &server{w: w, pool: pool, id: id, key: rs.Key, done: make(chan struct{})}
	w.mu.Lock()
	w.dials = append(w.dials, rs.Key)
	w.origins = append(w.origins, cc)
	w.running[id] = s
	w.starting++
	w.mostStarting = max(w.mostStarting, w.starting)
	w.mostRunning = max(w.mostRunning, len(w.running))
	w.mostOfPool[pool] = max(w.mostOfPool[pool], w.runningIn(pool))
	refuse := w.refuse
	w.mu.Unlock()

	var err error
	select {
	case <-time.After(w.starts):
		err = refuse
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starting--
	if err != nil {
		delete(w.running, id)
		return nil, err
	}
	return s, nil
}

func (w *world) runningIn(pool string) (n int) {
	for _, s := range w.running {
		if s.pool == pool {
			n++
		}
	}
	return n
}

// server is a running fake.
type server struct {
	w    *world
	pool string
	id   string
	key  string
	done chan struct{}
	die  sync.Once
}

var errDied = errors.New("exit status 3")

func (s *server) Mux() *mux.Mux         { return nil }
func (s *server) Done() <-chan struct{} { return s.done }
func (s *server) Failure() error        { return errDied }

func (s *server) Stop(ctx context.Context) error {
	select {
	case <-time.After(s.w.stops):
	case <-ctx.Done():
	}
	s.w.mu.Lock()
	delete(s.w.running, s.id)
	s.w.mu.Unlock()
	s.kill()
	return nil
}

func (s *server) kill() { s.die.Do(func() { close(s.done) }) }

// crash ends the one server of key by itself.
func (w *world) crash(t *testing.T, key string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.running {
		if s.key == key {
			s.kill()
			return
		}
	}
	t.Fatalf("no server of %s runs", key)
}

// started returns how often a server was started.
func (w *world) started() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dials)
}

// keys are those that run now, of any pool.
func (w *world) keys() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := map[string]bool{}
	for _, s := range w.running {
		keys[s.key] = true
	}
	return keys
}

func (w *world) refuseWith(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = err
}

// at is the resolved scope of a key.
func at(key string) scope.ResolvedScope { return scope.ResolvedScope{Key: key} }

// lease acquires. When that fails the test has failed, and its goroutine ends,
// whichever that is.
func lease(t *testing.T, p *Pool, key string) *Lease {
	t.Helper()
	l, err := p.Acquire(t.Context(), at(key), scope.CallContext{})
	if err != nil {
		t.Errorf("Acquire(%s): %v", key, err)
		runtime.Goexit()
	}
	return l
}

// use acquires and releases at once.
func use(t *testing.T, p *Pool, keys ...string) {
	t.Helper()
	for _, key := range keys {
		lease(t, p, key).Release()
	}
}
