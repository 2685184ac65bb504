package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Conn is an open server.
type Conn struct {
	plan     spawn.Plan
	opts     Options
	greeting Greeting
	hs       Handshake

	proc *child.Process
	in   *stdio.Writer
	out  *stdio.Reader
	desk *Desk
	wg   sync.WaitGroup

	stopping atomic.Bool // Stop was asked for

	hungUp chan struct{} // closed by hangUp: stdout has ended, the process has not
	hangUp func()
	gone   chan struct{} // closed by leave: Stop did what it could
	leave  func()
	done   chan struct{} // closed by end
	rooted chan struct{} // closed when the server first asks for its roots
	end    func()

	mu      sync.Mutex // guards what follows
	failure *Failure
}

func newConn(p spawn.Plan, o Options, proc *child.Process) *Conn {
	c := &Conn{
		plan:     p,
		opts:     o,
		greeting: Greeting{Version: o.Version, Workspace: p.Workspace, ListChanged: o.Roots != nil, Asks: o.Asks},
		proc:     proc,
		in:       stdio.NewWriter(proc.Stdin(), 0),
		out:      stdio.NewReader(proc.Stdout(), 0),
		hungUp:   make(chan struct{}),
		gone:     make(chan struct{}),
		done:     make(chan struct{}),
		rooted:   make(chan struct{}),
	}
	told := sync.OnceFunc(func() { close(c.rooted) })
	c.desk = &Desk{
		Server: p.Server, Log: o.Log, Write: c.in.Write, CutOff: c.out.CutOff,
		Roots: func() []byte {
			told()
			return c.Roots()
		},
	}
	c.hangUp = sync.OnceFunc(func() { close(c.hungUp) })
	c.leave = sync.OnceFunc(func() { close(c.gone) })
	c.end = sync.OnceFunc(func() { close(c.done) })
	c.wg.Go(c.attend)
	return c
}

// attend sees the process to its end. One whose stdin or stdout has ended is of
// no use and is stopped; what escapes of it, Stop reports when it is called.
func (c *Conn) attend() {
	defer c.end()
	select {
	case <-c.proc.Done():
		return
	case <-c.gone:
		return
	case <-c.hungUp:
	case <-c.in.Done():
		c.end()
		c.awaitExit() // most often it is dying, and its last words are still to be read
	}
	if c.proc.Exit() == "" {
		_ = c.proc.Stop(context.Background())
	}
}

// Handshake is the answer to the handshake.
func (c *Conn) Handshake() Handshake { return c.hs }

// Roots is the result of roots/list; nil when the server is offered none.
func (c *Conn) Roots() []byte { return c.greeting.RootsResult(c.opts.Roots) }

// Plan is the effective definition.
func (c *Conn) Plan() spawn.Plan { return c.plan }

// Write sends whole lines, newline included. It never blocks; a server that
// does not read makes it return stdio.ErrFull. Any other error means that the
// server is ending: nothing was sent, and Done is closed.
func (c *Conn) Write(lines []byte) error {
	err := c.in.Write(lines)
	if err != nil && !errors.Is(err, stdio.ErrFull) {
		c.end()
	}
	return err
}

// Program is the absolute path of the program that was started.
func (c *Conn) Program() string { return c.proc.Command() }

// PID is the process, 0 for a remote.
func (c *Conn) PID() int { return c.proc.ID().PID }

// Noise counts lines that were not messages.
func (c *Conn) Noise() int64 { return c.desk.Noise() }

// NoiseLines are the last of them, shortened, for status.
func (c *Conn) NoiseLines() []string { return c.desk.NoiseLines(c.proc.Mask) }

// Done is closed when the process has ended, or its stdin or stdout has.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Failure says why the server ended: a *Failure with exit status and last
// words. It is nil until Serve has returned.
func (c *Conn) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		return nil
	}
	return c.failure
}

// RootsAsked is closed when the server first asks for its roots; nil when it was
// offered none. One that keeps to its roots refuses what comes before.
func (c *Conn) RootsAsked() <-chan struct{} {
	if c.hs.Era != Legacy || c.greeting.rootsCapability() == nil {
		return nil
	}
	return c.rooted
}

// RootsChanged tells a server with caller-owned roots to ask again. Others, and
// modern ones, which have no such notification, hear nothing.
func (c *Conn) RootsChanged() {
	if !c.greeting.HasChangingRoots(c.hs.Era) {
		return
	}
	// A server that does not read asks for roots when it reads again, or never.
	_ = c.in.Write(wire.AppendNotification(nil, "notifications/roots/list_changed", nil))
}

// Stop ends the server by the ladder of child and waits for it. Calls in flight
// are answered by whoever serves.
func (c *Conn) Stop(ctx context.Context) error {
	c.stopping.Store(true)
	err := c.proc.Stop(ctx)
	c.leave()
	c.in.Close()
	c.wg.Wait()
	return err
}
