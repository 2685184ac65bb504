package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/registry"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// BenchmarkInside is the daemon's part of a call alone, in this process: what it
// allocates, and, with -cpuprofile or -memprofile, where. The driver allocates
// nothing. At most 10 allocations and 1 KB are the aim (design D7).
func BenchmarkInside(b *testing.B) {
	for _, c := range []struct {
		name  string
		roots bool
		size  int
	}{
		{"64B", false, 64},
		{"65536B", false, 64 << 10},
		{"roots/64B", true, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			tail := call(c.size)
			h := inside(b)
			h.roots = c.roots
			ready(h, tail)
			b.ReportAllocs()
			for b.Loop() {
				h.roundTrip(tail)
			}
		})
	}
}

// inside joins a session to a registry as the daemon does, in this process. The
// server alone is another.
func inside(t testing.TB) *host {
	t.Helper()
	view := config.Merge(parsed(t, fmt.Sprintf(`{"mcpServers": {"raw": {"command": %q, "args": ["raw"]}}}`, echo)))
	home := t.TempDir()
	servers := registry.New(registry.Options{
		Home:   home,
		Child:  child.Options{Home: home},
		Limits: pool.NewLimits(8, 8),
	})
	in, hostIn := pipe(t)
	hostOut, out := pipe(t)
	w := stdio.NewWriter(out, 0)
	conn := session.New(w, session.Options{
		Hello: api.Hello{API: api.Version, Server: "raw"}, Chain: proc.Ancestors(os.Getpid(), 8),
		Servers: servers, World: still{view, &source.Rules{Table: visibility.None().On(visibility.Disk{}), Live: true}}, Log: slog.New(slog.DiscardHandler),
		CallID: func() string { return "1" },
	})
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := conn.Serve(session.Stream(in)); err != nil {
			t.Errorf("the session ended: %v", err)
		}
		w.Close()
		_ = out.Close()
	})
	h := newHost(t, hostIn, hostOut)
	t.Cleanup(func() {
		h.close()
		serving.Wait()
		_ = in.Close()
		if err := servers.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func parsed(t testing.TB, text string) *config.File {
	t.Helper()
	f, problems := config.Parse("config.json", config.User, []byte(text))
	for _, p := range problems {
		t.Fatal(p)
	}
	return f
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// still is a world in which nothing moves, not even those who are watched.
type still struct {
	view  *config.Config
	rules *source.Rules
}

func (s still) View(string) *config.Config                       { return s.view }
func (s still) Rules() *source.Rules                             { return s.rules }
func (s still) Locate(context.Context, string, string) scope.Git { return scope.Git{} }
func (s still) Canon(path string) (string, error)                { return path, nil }
func (s still) Stands(p proc.ID) (string, bool)                  { return proc.Cwd(p.PID) }
