package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Conn is an open server.
type Conn struct {
	plan      spawn.Plan
	opts      Options
	target    target
	keys      *keyring
	transport interface{ CloseIdleConnections() }
	carrier   carrier
	greeting  upstream.Greeting
	desk      *upstream.Desk
	params    toolParams

	hs    upstream.Handshake // set by open, before anything else runs
	plain bool               // greeted without the strict members

	life context.Context // ends with the connection
	end  context.CancelFunc
	over func()         // closes done
	done chan struct{}  // closed by over
	wg   sync.WaitGroup // all that is under way

	requests *lane
	asides   *lane // notifications, and answers to the server

	serving chan struct{} // closed when Serve has come
	taking  sync.Mutex    // guards handle: one line at a time is handed on
	handle  func(*wire.Envelope)

	renewing sync.Mutex // one at a time opens a new session

	mu       sync.Mutex // guards what follows and the queues of the lanes
	queued   int        // bytes
	inflight map[string]*post
	session  *session
	replay   replay
	failure  *upstream.Failure
	last     string // why the last request was not answered; "" when it was
}

func newConn(p spawn.Plan, o Options, t target, keys *keyring) *Conn {
	transport := newTransport(o.TLS)
	c := &Conn{
		plan: p, opts: o, target: t, keys: keys,
		transport: transport, carrier: carrier{base: transport, origin: t.origin},
		greeting: upstream.Greeting{Version: o.Version, Workspace: p.Workspace, ListChanged: o.Roots != nil, Asks: o.Asks},
		done:     make(chan struct{}), serving: make(chan struct{}),
		requests: newLane(maxPosts), asides: newLane(maxAsides),
		inflight: map[string]*post{}, session: &session{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.over = sync.OnceFunc(func() { close(c.done) })
	c.desk = &upstream.Desk{
		Server: p.Server, Log: o.Log, Write: c.Write,
		Roots: c.Roots,
	}
	return c
}

// Handshake is the answer to the handshake.
func (c *Conn) Handshake() upstream.Handshake { return c.hs }

// Roots is the result of roots/list; nil when the server is offered none.
func (c *Conn) Roots() []byte { return c.greeting.RootsResult(c.opts.Roots) }

// Plan is the effective definition.
func (c *Conn) Plan() spawn.Plan { return c.plan }

// Program is "": there is none on this machine.
func (c *Conn) Program() string { return "" }

// PID is 0: there is no process.
func (c *Conn) PID() int { return 0 }

// Noise counts what came that were no messages.
func (c *Conn) Noise() int64 { return c.desk.Noise() }

// Trouble says why the last request was not answered; "" when it was.
func (c *Conn) Trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Done is closed when the connection is of no more use.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Failure says why, a *upstream.Failure; nil until Done is closed.
func (c *Conn) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		return nil
	}
	return c.failure
}

// RootsChanged tells a server with caller-owned roots to ask again.
func (c *Conn) RootsChanged() {
	if c.greeting.HasChangingRoots(c.hs.Era) {
		_ = c.Write(wire.AppendNotification(nil, "notifications/roots/list_changed", nil)) // a server that is busy asks later, or never
	}
}

// Serve hands on each message of the server to handle, whose envelope is valid
// during the call only, until the connection ends. What may be asked of mcpx is
// answered here. One caller. The error is Failure's.
func (c *Conn) Serve(handle func(*wire.Envelope)) error {
	c.taking.Lock()
	c.handle = handle
	c.taking.Unlock()
	close(c.serving)
	<-c.done
	c.taking.Lock() // a line that is being handed on is so to its end
	c.handle = nil
	c.taking.Unlock()
	return c.Failure()
}

// deliver hands on what a line holds, with or without its end.
func (c *Conn) deliver(line []byte) {
	select {
	case <-c.serving:
	case <-c.life.Done():
		return
	}
	c.taking.Lock()
	defer c.taking.Unlock()
	if c.handle != nil && c.life.Err() == nil {
		c.desk.Line(bytes.TrimSuffix(line, []byte("\n")), c.take)
	}
}

// take sees a message before it is handed on. Holds taking.
func (c *Conn) take(env *wire.Envelope) {
	if env.Kind == wire.Result || env.Kind == wire.Error {
		key, _ := wire.CanonicalID(env.Bytes(env.ID))
		c.mu.Lock()
		p := c.inflight[key]
		if p != nil {
			p.answered = true
			c.last = ""
		}
		c.mu.Unlock()
		switch {
		case p != nil && p.method == "tools/list" && env.Kind == wire.Result && c.hs.Era == upstream.Modern:
			c.takeTools(env)
			return
		case bytes.HasPrefix(env.Bytes(env.ID), ownIDs):
			return
		}
	}
	c.handle(env)
}

// takeTools notes which arguments go into headers, and leaves out the tools that
// say so in a way that is not valid.
func (c *Conn) takeTools(env *wire.Envelope) {
	result := env.Bytes(env.Result)
	kept, dropped := c.params.learn(result)
	if dropped == nil {
		c.handle(env)
		return
	}
	c.opts.Log.Warn("left out tools", "server", c.plan.Server, "err", dropped)
	line := env.Append(nil, wire.Edit{At: env.Result, With: kept})
	if edited, err := wire.Scan(line[:len(line)-1]); err == nil {
		c.handle(&edited)
	}
}

// fail ends the connection for a reason that concerns all of it.
func (c *Conn) fail(t *trouble) {
	c.finish(c.failed(t))
}

func (c *Conn) failed(t *trouble) *upstream.Failure {
	return &upstream.Failure{
		Server: c.plan.Server, Msg: c.keys.mask(t.msg), Fix: t.hint, Reason: cmp.Or(t.reason, "server lost"),
	}
}

// finish ends the connection; the first reason counts.
func (c *Conn) finish(f *upstream.Failure) {
	c.mu.Lock()
	if c.failure == nil {
		c.failure = f
	}
	c.mu.Unlock()
	c.end()
	c.over()
}

// Stop takes leave of the server and returns when nothing is under way any more.
func (c *Conn) Stop(ctx context.Context) error {
	c.finish(&upstream.Failure{Server: c.plan.Server, Msg: "was stopped", Stopped: true})
	c.wg.Wait()
	c.leave(ctx)
	c.transport.CloseIdleConnections()
	return nil
}

// errEnded answers those who write to a connection that has ended.
var errEnded = errors.New("the connection has ended")
