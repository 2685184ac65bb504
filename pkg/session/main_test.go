package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// What a host says to open a connection: it has no roots, has some, or has some
// and says when they change.
const (
	plain       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"2"}}}`
	rooted      = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}}}}`
	telling     = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// stage is one connection to the server "srv" on a machine that is made up.
type stage struct {
	t       *testing.T
	hello   api.Hello
	chain   []proc.Info
	world   *fakeWorld
	servers *fakeServers
	keep    func([]byte) error
	resume  []byte
	log     *slog.Logger
	may     func(dir string) bool

	conn  *Conn
	in    *io.PipeWriter
	host  *fakeHost
	ended chan struct{} // closed when Serve has returned
}

// play makes a stage in a bubble, lets edit change it before the connection is
// opened, and plays. The bubble fails a test that leaves a goroutine behind.
func play(t *testing.T, edit, script func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{
			t: t, hello: api.Hello{Server: "srv", Cwd: "/desk"},
			chain: []proc.Info{{ID: proc.ID{PID: 7, Start: 1}, Argv: []string{"host"}}},
			world: newWorld(), host: &fakeHost{}, ended: make(chan struct{}),
		}
		s.servers = newServers(t)
		if edit != nil {
			edit(s)
		}
		s.open()
		script(s)
		s.close()
	})
}

func (s *stage) open() {
	calls := 0
	out := stdio.NewWriter(s.host, 0)
	s.conn = New(out, Options{
		Hello: s.hello, Chain: s.chain, Home: "/home/u", Epoch: "e", Version: "1",
		CallID: func() string { calls++; return fmt.Sprint(calls) },
		Keep:   s.keep, Resume: s.resume, May: s.may,
		Say: s.host.hear, Servers: s.servers, World: s.world, Log: s.log,
	})
	var in *io.PipeReader
	in, s.in = io.Pipe()
	go func() {
		defer close(s.ended)
		_ = s.conn.Serve(Stream(in))
		_ = in.Close()
	}()
}

// close ends the host's input and checks that nothing was left unread.
func (s *stage) close() {
	s.t.Helper()
	_ = s.in.Close()
	<-s.ended
	s.gets()
	s.servers.close()
}

// sends writes the host's lines, each when the one before has had its effect.
func (s *stage) sends(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(s.in, line+"\n"); err != nil {
			s.t.Fatalf("the connection no longer reads: %s: %v", line, err)
		}
		synctest.Wait()
	}
}

// gets compares with all that the host got since it was last asked.
func (s *stage) gets(want ...string) {
	s.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(append([]string{}, want...), s.host.take()); diff != "" {
		s.t.Errorf("the host got (-want +got):\n%s", diff)
	}
}

// got is all that the host got since it was last asked.
func (s *stage) got() []string {
	synctest.Wait()
	return s.host.take()
}

// greet shakes hands and forgets the answer.
func (s *stage) greet(initialize string) {
	s.t.Helper()
	s.sends(initialize)
	if got := s.got(); len(got) != 1 || !strings.Contains(got[0], `"result"`) {
		s.t.Fatalf("initialize was answered %q", got)
	}
	s.sends(initialized)
}

// asked is the line by which mcpx asks for roots the nth time.
func asked(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpx-e-%d","method":"roots/list"}`, n)
}

// stands is the host's answer to that.
func stands(n int, dirs ...string) string {
	list := []map[string]string{}
	for _, d := range dirs {
		list = append(list, map[string]string{"uri": "file://" + d})
	}
	b, _ := json.Marshal(map[string]any{"roots": list})
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"mcpx-e-%d","result":%s}`, n, b)
}

func call(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

func list(id int, kind string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s/list"}`, id, kind)
}

func cancel(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}

// by is the answer of the instance with this key.
func by(id int, key string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"by":%q}}`, id, key)
}

func result(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, text)
}

func changed(kind string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`, kind)
}

// problem is what an error answer says.
type problem struct {
	ID      int
	Code    int
	Message string
}

func problemOf(t *testing.T, line string) problem {
	t.Helper()
	var m struct {
		ID    int
		Error problem
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	m.Error.ID = m.ID
	return m.Error
}

// refuses checks that the host got one error and nothing else.
func (s *stage) refuses(id, code int, message string) {
	s.t.Helper()
	got := s.got()
	if len(got) != 1 {
		s.t.Fatalf("the host got %q, want one error", got)
	}
	if diff := cmp.Diff(problem{id, code, message}, problemOf(s.t, got[0])); diff != "" {
		s.t.Errorf("the error (-want +got):\n%s", diff)
	}
}

// fakeHost keeps what it is written and told.
type fakeHost struct {
	mu    sync.Mutex // guards what follows
	lines []string
	said  []string
}

func (h *fakeHost) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
	return len(b), nil
}

func (h *fakeHost) hear(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *fakeHost) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := append([]string{}, h.lines...)
	h.lines = nil
	return lines
}

// fakeWorld is a machine: directories, what is configured there, who stands where.
type fakeWorld struct {
	mu     sync.Mutex // guards what follows
	views  map[string]*config.Config
	git    map[string]scope.Git
	stands map[int]string
	gone   map[string]bool
	rules  *source.Rules
}

func newWorld() *fakeWorld {
	return &fakeWorld{
		views: map[string]*config.Config{"": view(server(scope.Cwd))},
		git:   map[string]scope.Git{}, stands: map[int]string{7: "/desk"}, gone: map[string]bool{},
		rules: ruling(nil, `{}`),
	}
}

// view is a config of these servers.
func view(servers ...*config.Resolved) *config.Config {
	c := &config.Config{Servers: map[string]*config.Resolved{}}
	for _, s := range servers {
		c.Servers[s.Name] = s
		c.Names = append(c.Names, s.Name)
	}
	return c
}

func server(s scope.Scope) *config.Resolved {
	return &config.Resolved{
		Name: "srv", Command: "srv", Scope: s, Sharing: config.Shared, Max: 4,
		StartTimeout: time.Minute, CallTimeout: 2 * time.Minute, Roots: true,
	}
}

// View is the one of dir, else the one that holds everywhere.
func (w *fakeWorld) View(dir string) *config.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.views[dir]; v != nil {
		return v
	}
	return w.views[""]
}

// ruling are these rules, on a machine where paths are as they are written.
func ruling(t *testing.T, document string) *source.Rules {
	r, problems := visibility.Parse("rules.json", []byte(document))
	if problems != nil {
		t.Fatal(problems)
	}
	return &source.Rules{Document: r, Table: r.On(visibility.Disk{Home: "/home/u"}), Live: true}
}

func (w *fakeWorld) Rules() *source.Rules {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules
}

func (w *fakeWorld) rule(r *source.Rules) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = r
}

func (w *fakeWorld) configure(dir string, v *config.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views[dir] = v
}

func (w *fakeWorld) Locate(_ context.Context, dir, _ string) scope.Git {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.git[dir]
}

func (w *fakeWorld) Canon(path string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone[path] {
		return "", errors.New("no such directory")
	}
	return path, nil
}

func (w *fakeWorld) remove(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[dir] = true
}

func (w *fakeWorld) Stands(p proc.ID) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir, ok := w.stands[p.PID]
	return dir, ok
}

func (w *fakeWorld) move(pid int, dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stands[pid] = dir
}
