// Package demo proves on this machine that sessions share one server per
// checkout, in the right directory: a repository written here, a private daemon,
// and three sessions that are real `mcpx connect` processes. It decides nothing
// that the daemon decides, and leaves nothing behind.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/canon"
)

// Options are the demo's. Executable is this program: it is started as daemon,
// as connect and as the demo's server.
type Options struct {
	Executable string
	Environ    []string
	Gopls      bool              // a real gopls in place of the embedded server
	Home       string            // the person's own, where gopls and go keep their caches
	Progress   func(text string) // what is going on now; may be nil
}

// Report is what happened. Times are of tools/call: First from the start of
// session 1's process to its first answer, Then the median of warm calls.
type Report struct {
	Sessions  []Session
	Processes int
	Replaced  bool // the daemon was killed, and what is told here is of the next
	First     time.Duration
	Then      time.Duration
}

// Session is one host and what it got.
type Session struct {
	Dir   string   // where it stands
	PID   int      // of the server that answered
	RunIn string   // that server's directory
	Roots []string // what that server was told, as URIs
	Saw   []string // exported functions it answered with
	Peer  int      // the earlier session, from 1, whose process it shares; 0 for none
	Wrong []string // what is not as it should be
}

// calls is how many warm calls the median is taken of.
const calls = 20

// Run does it all. An error means that it could not be tried; what was tried
// and came out wrong is in the report.
func Run(ctx context.Context, o Options) (rep *Report, err error) {
	base, err := os.MkdirTemp("", "mcpx-demo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = first(err, os.RemoveAll(base)) }()
	if base, err = canon.Path(base); err != nil {
		return nil, err
	}
	shop, err := WriteShop(filepath.Join(base, "src"))
	if err != nil {
		return nil, err
	}
	server, err := o.server()
	if err != nil {
		return nil, err
	}
	d, err := o.start(ctx, base, server)
	if err != nil {
		return nil, err
	}
	defer func() { err = first(err, d.stop()) }()
	return o.tryAll(ctx, d, shop, server)
}

// tryAll opens the three sessions one after the other and keeps them open, so
// that what could be shared is. Then it kills the daemon under them and asks all
// of them again; a real gopls is spared that, since it may take minutes to build.
func (o Options) tryAll(ctx context.Context, d *daemonProcess, shop Shop, server server) (*Report, error) {
	rep := &Report{}
	expected := []expectation{
		{dir: shop.Main, checkout: shop.Main, sees: "OnlyOnMain", never: "OnlyOnFeature"},
		{dir: filepath.Join(shop.Main, "api"), checkout: shop.Main, sees: "OnlyOnMain", never: "OnlyOnFeature", peer: 1},
		{dir: shop.Feature, checkout: shop.Feature, sees: "OnlyOnFeature", never: "OnlyOnMain"},
	}
	hosts := make([]*host, len(expected))
	for i, want := range expected {
		o.progress(fmt.Sprintf("session %d of %d", i+1, len(expected)))
		begin := time.Now()
		host, err := d.connect(ctx, server.name, want.dir, i+1)
		if err != nil {
			return nil, fmt.Errorf("session %d: %w", i+1, err)
		}
		defer host.close()
		hosts[i] = host
		got, err := server.ask(ctx, host, d, want.checkout)
		if err != nil {
			return nil, fmt.Errorf("session %d: %w", i+1, host.explain(err))
		}
		if i == 0 {
			rep.First = time.Since(begin)
			if rep.Then, err = median(ctx, host, server); err != nil {
				return nil, fmt.Errorf("session 1: %w", host.explain(err))
			}
		}
		got.Dir = want.dir
		rep.Sessions = append(rep.Sessions, got)
	}
	judge(rep, expected)
	if o.Gopls || rep.failed() {
		return rep, nil
	}
	o.progress("killing the daemon")
	d.kill()
	for i, want := range expected {
		got, err := server.ask(ctx, hosts[i], d, want.checkout)
		if err != nil {
			return nil, fmt.Errorf("session %d, after its daemon was killed: %w", i+1, hosts[i].explain(err))
		}
		got.Dir = want.dir
		rep.Sessions[i] = got
	}
	rep.Replaced = true
	judge(rep, expected)
	return rep, nil
}

func (r *Report) failed() bool {
	return slices.ContainsFunc(r.Sessions, func(s Session) bool { return len(s.Wrong) > 0 })
}

// median times warm calls one after the other.
func median(ctx context.Context, h *host, s server) (time.Duration, error) {
	times := make([]time.Duration, calls)
	for i := range times {
		begin := time.Now()
		if _, err := h.call(ctx, s.tool, s.args); err != nil {
			return 0, err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

func (o Options) progress(text string) {
	if o.Progress != nil {
		o.Progress(text)
	}
}

// writeConfig writes the one server of the demo's daemon.
func writeConfig(path string, s server) error {
	data, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{s.name: s.entry}}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// first keeps the error that came first.
func first(err, later error) error {
	if err != nil {
		return err
	}
	return later
}
