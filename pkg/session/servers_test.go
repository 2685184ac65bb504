package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/registry"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// handshake is what a fake server says of itself.
const handshake = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"9"},"x":[1.0]}`

// tools are the ones it has.
const tools = `{"tools":[{"name":"a","n":1.0},{"name":"b"}]}`

// fakeServers are real pools over servers in memory.
type fakeServers struct {
	t      *testing.T
	limits *pool.Limits
	slow   time.Duration // a start takes
	kept   map[string]*registry.Catalogue

	mu      sync.Mutex // guards what follows
	refuse  error      // what the next starts fail with
	pools   map[config.Definition]*pool.Pool
	all     map[string]*fakeServer // the latest of each key
	starts  []string
	changed []string // keys whose roots changed
}

func newServers(t *testing.T) *fakeServers {
	return &fakeServers{
		t: t, limits: pool.NewLimits(64, 4), kept: map[string]*registry.Catalogue{},
		pools: map[config.Definition]*pool.Pool{}, all: map[string]*fakeServer{},
	}
}

// keep files a catalogue of srv with these lists.
func (f *fakeServers) keep(lists map[string]string) {
	c := &registry.Catalogue{Handshake: []byte(handshake), Lists: map[string][]byte{}}
	for method, result := range lists {
		c.Lists[method] = []byte(result)
	}
	f.kept["srv"] = c
}

func (f *fakeServers) pool(s *config.Resolved) *pool.Pool {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pools[s.Definition()]
	if p == nil {
		p = pool.New(*s, pool.Options{Dial: f.dial, Limits: f.limits})
		f.pools[s.Definition()] = p
	}
	return p
}

func (f *fakeServers) Acquire(ctx context.Context, s *config.Resolved, cc scope.CallContext) (*pool.Lease, error) {
	return f.pool(s).Acquire(ctx, s.Scope.Resolve(cc), cc)
}

func (f *fakeServers) Running(s *config.Resolved, key, session string) (*pool.Lease, bool) {
	return f.pool(s).Running(key, session)
}

func (f *fakeServers) Catalogue(s *config.Resolved) (*registry.Catalogue, bool) {
	c := f.kept[s.Name]
	return c, c != nil
}

func (f *fakeServers) RootsChanged(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = append(f.changed, key)
}

func (f *fakeServers) dial(ctx context.Context, _ string, rs scope.ResolvedScope, _ scope.CallContext) (pool.Upstream, error) {
	f.mu.Lock()
	f.starts = append(f.starts, rs.Key)
	refuse := f.refuse
	f.mu.Unlock()
	select {
	case <-time.After(f.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if refuse != nil {
		return nil, refuse
	}
	s := &fakeServer{key: rs.Key, in: make(chan string, 100), dead: make(chan struct{})}
	s.mux = mux.New(s, mux.Options{Server: "srv"})
	f.mu.Lock()
	f.all[rs.Key] = s
	f.mu.Unlock()
	return s, nil
}

// of is the latest server of key, which must have been started.
func (f *fakeServers) of(key string) *fakeServer {
	f.t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.all[key]
	if s == nil {
		f.t.Fatalf("no server of %s was started; started were %q", key, f.starts)
	}
	return s
}

func (f *fakeServers) started() string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.starts, " ")
}

func (f *fakeServers) rootsChanged() []string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fakeServers) close() {
	for _, p := range f.pools {
		if err := p.Close(context.Background()); err != nil {
			f.t.Errorf("Close: %v", err)
		}
	}
}

// fakeServer answers each request with its key, but calls of the tool "hold",
// which it keeps.
type fakeServer struct {
	key  string
	mux  *mux.Mux
	in   chan string
	dead chan struct{}
	die  sync.Once

	mu   sync.Mutex // guards what follows
	got  []string
	held []string // ids
	own  string   // what it says unasked
}

func (s *fakeServer) Handshake() upstream.Handshake {
	return upstream.Handshake{Era: upstream.Legacy, Result: []byte(handshake), Initialize: []byte(handshake)}
}

func (s *fakeServer) Write(lines []byte) error {
	for line := range strings.Lines(string(lines)) {
		s.in <- strings.TrimSuffix(line, "\n")
	}
	return nil
}

func (s *fakeServer) Serve(handle func(*wire.Envelope)) error {
	for {
		select {
		case line := <-s.in:
			if answer := s.answer(line); answer != "" {
				env, err := wire.Scan([]byte(answer))
				if err != nil {
					panic(err)
				}
				handle(&env)
			}
		case <-s.dead:
			return s.Failure()
		}
	}
}

func (s *fakeServer) answer(line string) string {
	env, err := wire.Scan([]byte(line))
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if env.Kind == wire.Result || line == s.own { // from let, from says
		return line
	}
	s.got = append(s.got, line)
	id := string(env.Bytes(env.ID))
	switch {
	case env.Kind != wire.Request:
		return ""
	case env.Text(env.Name) == "hold":
		s.held = append(s.held, id)
		return ""
	case env.Text(env.Method) == "tools/list":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, tools)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"by":%q}}`, id, s.key)
}

// let answers what it holds.
func (s *fakeServer) let() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.held {
		s.in <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"by":%q}}`, id, s.key)
	}
	s.held = nil
}

// says has it send a line of its own.
func (s *fakeServer) says(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = line
	s.in <- line
}

// methods are those of what it got, in order.
func (s *fakeServer) methods() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, line := range s.got {
		env, _ := wire.Scan([]byte(line))
		name := env.Text(env.Method)
		if tool := env.Text(env.Name); tool != "" {
			name += ":" + tool
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func (s *fakeServer) Mux() *mux.Mux         { return s.mux }
func (s *fakeServer) Done() <-chan struct{} { return s.dead }
func (s *fakeServer) Roots() []byte         { return nil }
func (s *fakeServer) Failure() error        { return errors.New("exited") }

func (s *fakeServer) Stop(context.Context) error {
	s.end()
	<-s.mux.Done()
	return nil
}

func (s *fakeServer) end() { s.die.Do(func() { close(s.dead) }) }
