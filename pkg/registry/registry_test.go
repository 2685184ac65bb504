package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/fakemcp/fake"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/state"
)

// asFake makes the test binary a server when it is started by a registry.
const asFake = "REGISTRY_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asFake) != "" {
		os.Exit(fake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// rig is a registry over real processes, and what it said.
type rig struct {
	*Registry
	log     *recorder
	changed chan []string
}

// newRig makes a registry with its cache in dir, "" for none. It is closed when
// the test ends.
func newRig(t *testing.T, dir string, edit func(*Options)) *rig {
	t.Helper()
	r := &rig{log: newRecorder(), changed: make(chan []string, 100)}
	o := Options{
		Home: t.TempDir(), Limits: pool.NewLimits(64, 4), Version: "test", Marker: fmt.Sprintf("test%d.1", os.Getpid()),
		Changed: func(_ config.Definition, kinds []string) { r.changed <- kinds },
		Log:     slog.New(r.log),
	}
	o.Child.Home, o.Child.Grace = o.Home, time.Second
	if dir != "" {
		var err error
		if o.Cache, err = state.Open(filepath.Join(dir, "cache")); err != nil {
			t.Fatal(err)
		}
	}
	if edit != nil {
		edit(&o)
	}
	r.Registry = New(o)
	t.Cleanup(func() { r.stop(t) })
	return r
}

func (r *rig) stop(t *testing.T) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// fakeServer is a server that is this test binary, with fakemcp's flags.
func fakeServer(t *testing.T, name string, s scope.Scope, flags ...string) *config.Resolved {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &config.Resolved{
		Name: name, Command: exe, Args: flags, Env: map[string]string{asFake: "1", "GORACE": "atexit_sleep_ms=0"},
		Scope: s, Sharing: config.Shared, Max: 4, IdleTimeout: 5 * time.Minute,
		StartTimeout: 30 * time.Second, Protocol: config.Auto, Roots: true, EnvPolicy: config.Inherit,
	}
}

// acquire leases, and fails the test when that fails.
func (r *rig) acquire(t *testing.T, s *config.Resolved, cc scope.CallContext) *pool.Lease {
	t.Helper()
	l, err := r.Acquire(t.Context(), s, cc)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return l
}

// identity is what fakemcp's tool whoami says of a process.
type identity struct {
	PID  int      `json:"pid"`
	Cwd  string   `json:"cwd"`
	Argv []string `json:"argv"`
}

func whoami(t *testing.T, l *pool.Lease) (id identity) {
	t.Helper()
	if err := json.Unmarshal([]byte(call(t, l, "whoami")), &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// call calls a tool that answers with one text.
func call(t *testing.T, l *pool.Lease, tool string) string {
	t.Helper()
	result, err := l.Mux().Call(t.Context(), "tools/call", fmt.Appendf(nil, `{"name":%q,"arguments":{}}`, tool))
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("%s: %s", tool, result)
	}
	return r.Content[0].Text
}

// dir makes a directory below the test's own, spelled as the kernel does.
func dir(t *testing.T, name string) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d = filepath.Join(d, name)
	if err := os.Mkdir(d, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

// recorder is a log that tests can read.
type recorder struct {
	warned chan string // "message: err" of each warning

	mu    sync.Mutex
	lines []map[string]string
}

func newRecorder() *recorder { return &recorder{warned: make(chan string, 100)} }

func (h *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (h *recorder) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *recorder) WithGroup(string) slog.Handler            { return h }

func (h *recorder) Handle(_ context.Context, rec slog.Record) error {
	line := map[string]string{"level": rec.Level.String(), "msg": rec.Message}
	rec.Attrs(func(a slog.Attr) bool {
		line[a.Key] = a.Value.String()
		return true
	})
	h.mu.Lock()
	h.lines = append(h.lines, line)
	h.mu.Unlock()
	if rec.Level == slog.LevelWarn {
		h.warned <- rec.Message + ": " + line["err"]
	}
	return nil
}

// said are the lines with this message.
func (h *recorder) said(msg string) (lines []map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if l["msg"] == msg {
			lines = append(lines, l)
		}
	}
	return lines
}

// occurrences counts text in a file.
func occurrences(t *testing.T, file, text string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), text)
}
