// Package front serves hosts that speak HTTP: /mcp/SERVER is one server, /mcp all
// of them under one roof, in both eras on one address. It turns requests into the
// lines that a connection of package session reads, and sorts the lines that it
// writes into responses. What a line says is session's business; the front looks
// at what HTTP repeats of it.
package front

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/gate"
	"github.com/dezren39/mcpx/pkg/session"
)

// Options open a front.
type Options struct {
	Listener net.Listener       // on a loopback address
	Digest   *[sha256.Size]byte // of the token that opens it; nil: none is asked for
	// Open makes the connection of a host. One for a single request belongs to no
	// session unless the hello names one.
	Open func(out session.Writer, hello api.Hello, single bool) (Host, *api.Error)
	Log  *slog.Logger
}

// Limits of threat T33, beside those of a message and of a connection's calls.
const (
	bodyWait   = time.Minute
	maxStreams = 64 // responses under way of one session

	sessionIdle = 30 * time.Minute // until a session that asks nothing and listens to nothing ends
	parkedFor   = 10 * time.Minute // until a question that a host was asked in an answer is taken back
)

// Front is one that serves.
type Front struct {
	o    Options
	port *gate.Port
	gate gate.Policy
	wg   sync.WaitGroup

	naming sync.Mutex // held while a connection for all requests of a name is made

	mu       sync.Mutex // guards what follows
	quit     bool
	guests   map[*guest]struct{}
	sessions map[string]*guest // of the legacy era, by Mcp-Session-Id
	named    map[who]*guest    // of the modern era, by what their requests say of themselves
	parked   map[string]*guest // that wait for the host's answers, by state
}

// New makes a front; Serve has it answer.
func New(o Options) *Front {
	f := &Front{
		o: o, guests: map[*guest]struct{}{}, sessions: map[string]*guest{}, named: map[who]*guest{}, parked: map[string]*guest{},
	}
	f.gate = gate.Policy{Methods: []string{http.MethodPost, http.MethodGet, http.MethodDelete}}
	if o.Digest != nil {
		f.gate.Opens = gate.One(*o.Digest)
	}
	f.port = gate.NewPort(o.Listener, f, o.Log)
	return f
}

// Serve answers until Close.
func (f *Front) Serve() error {
	stop := make(chan struct{})
	f.wg.Go(func() { f.tidy(stop) })
	defer close(stop)
	err := f.port.Serve()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends every session in good order, within limit, and then the rest.
func (f *Front) Close(limit time.Duration) {
	f.mu.Lock()
	f.quit = true
	guests := make([]*guest, 0, len(f.guests))
	for g := range f.guests {
		guests = append(guests, g)
	}
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range guests {
		all.Go(func() {
			g.host.Drain()
			g.inlet.close()
			select {
			case <-g.ended:
			case <-ctx.Done():
				g.host.Close()
				<-g.ended
			}
		})
	}
	all.Wait()
	f.port.Close(ctx)
	f.wg.Wait()
}

// forget takes a guest that has ended out of every table.
func (f *Front) forget(g *guest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.guests, g)
	for id, o := range f.sessions {
		if o == g {
			delete(f.sessions, id)
		}
	}
	if f.named[g.who] == g {
		delete(f.named, g.who)
	}
	for state, o := range f.parked {
		if o == g {
			delete(f.parked, state)
		}
	}
}

// tidy ends sessions that nobody has used for long.
func (f *Front) tidy(stop <-chan struct{}) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			f.sweep(now)
		}
	}
}

func (f *Front) sweep(now time.Time) {
	f.mu.Lock()
	var idle []*guest
	for g := range f.guests {
		if g.idleFor(now) > sessionIdle {
			idle = append(idle, g)
		}
	}
	f.mu.Unlock()
	for _, g := range idle {
		g.end()
	}
}
