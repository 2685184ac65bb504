package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Conn is one connection of a host: one `mcpx connect`.
type Conn struct {
	o      Options
	who    Identity
	alone  bool         // it has no session that servers could belong to
	shared *shared      // with the session's other connections
	calls  atomic.Int64 // ids minted for calls, of one that is alone
	placed atomic.Int64 // numbers the stands
	given  roots.Facts  // what the hello says of where the host is
	look   looks        // belongs to whoever places requests
	out    Writer
	source Source         // set by Serve
	roof   *rooftop       // nil: the connection is to one server
	wg     sync.WaitGroup // every goroutine of this connection

	life context.Context // ends when the host is gone
	end  context.CancelFunc

	initialized chan struct{} // closed by notifications/initialized
	once        sync.Once

	open  atomic.Int64 // requests read and not yet answered
	sent  atomic.Int64 // of those, on their way to a server or from it
	asked atomic.Int64 // of our own requests to the host

	drain     chan struct{} // closed by Drain
	drainOnce sync.Once
	orphans   []string // requests of a daemon before, until Serve
	heard     []string // lines by which the host listens to what it had, likewise

	mu        sync.Mutex // guards what follows
	host      hostFacts
	level     string             // of the log, as the host set it; "" when it did not
	stand     *stand             // where the session stands; nil until first known
	lanes     map[string]*lane   // by server
	queued    int                // bytes in the queues
	freed     chan struct{}      // closed when a call ends, while somebody waits for that
	waiting   map[string]*item   // queued or being placed, by canonical id
	asks      map[string]pending // by our id
	ports     map[*mux.Mux]*port
	listening map[string]*listen // of a modern host, by canonical id
	batches   map[string]*batch  // by canonical id of a request that came in one
	met       chan struct{}      // closed when the answer to initialize is written; nil when none is awaited
	quiet     chan struct{}      // closed when open falls to 0, while somebody waits for that
	unsettled []debt             // lines whose answers are not written yet
	exit      int                // of the shim, at the end of input
	openedAt  time.Time
}

// hostFacts are what the host said of itself, in initialize or with its requests.
type hostFacts struct {
	name, version string
	clientInfo    []byte // as sent
	capabilities  []byte // as sent
	protocol      string
	modern        bool // it says all this with each request
	roots         bool // declares the roots capability
	listChanged   bool // and says when they change
}

// New makes a connection that writes to out. Serve reads.
func New(out Writer, o Options) *Conn {
	life, end := context.WithCancel(context.Background())
	who := Identify(o.Hello, o.Chain)
	alone := o.Single && who.Session == ""
	if who.Session == "" {
		who.Session = "connection:" + o.CallID()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Conn{
		shared: newShared(), o: o, who: who, alone: alone, given: given(o.Hello), out: out,
		life: life, end: end,
		initialized: make(chan struct{}),
		drain:       make(chan struct{}),
		waiting:     map[string]*item{},
		asks:        map[string]pending{},
		ports:       map[*mux.Mux]*port{},
		lanes:       map[string]*lane{},
		batches:     map[string]*batch{},
		listening:   map[string]*listen{},
		openedAt:    time.Now(),
	}
	if o.Hello.Server == "" {
		c.roof = &rooftop{lists: map[roof.Kind]*roof.List{}, known: map[roof.Kind]*known{}, shown: map[string]string{}}
	}
	c.resume(o.Resume)
	out.OnWritten(c.wrote)
	return c
}

// Identity is who the connection belongs to.
func (c *Conn) Identity() Identity { return c.who }

// Server is the name the host connects to.
func (c *Conn) Server() string { return c.o.Hello.Server }

// Serve reads the host's lines until its input ends, answers what is in flight,
// and returns nil. A Close makes it return at once, a Drain with ErrDrained.
func (c *Conn) Serve(src Source) error {
	c.source = src
	c.takeUp()
	for {
		if c.leaving() {
			c.finish(drainWait)
			return ErrDrained
		}
		line, err := src.Next()
		if long, ok := errors.AsType[*stdio.TooLong](err); ok {
			c.tooLong(long)
			continue
		}
		if err != nil && c.leaving() {
			continue
		}
		if err != nil {
			c.finish(0)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c.line(line)
		if !c.keepUp() {
			c.finish(0)
			return nil
		}
	}
}

// leaving reports whether the daemon is going.
func (c *Conn) leaving() bool {
	select {
	case <-c.drain:
		return true
	default:
		return false
	}
}

// keepUp holds reading back while the host does not read its answers (design
// D8, threat T34): it is never cut off and never blocks a server. False: it is
// gone.
func (c *Conn) keepUp() bool {
	if c.out.Queued() > slowHost {
		select {
		case <-c.out.Drained():
		case <-c.life.Done():
		case <-c.drain:
		}
	}
	select {
	case <-c.out.Done():
		return false
	case <-c.life.Done():
		return c.leaving() // the daemon let go of it, not the host
	default:
		return true
	}
}

// finish waits for the answers in flight while there is a host to read them, at
// most for a limit if there is one, then lets go of everything.
func (c *Conn) finish(limit time.Duration) {
	var late <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		late = t.C
	}
	c.mu.Lock()
	quiet := make(chan struct{})
	if c.quiet = quiet; c.open.Load() == 0 {
		close(quiet)
		c.quiet = nil
	}
	c.mu.Unlock()
	select {
	case <-quiet:
		select {
		case <-c.out.Drained():
		case <-c.life.Done():
		case <-late:
		}
	case <-c.out.Done():
	case <-c.life.Done():
	case <-late:
	}
	c.Close()
}

// Close ends the connection at whatever stage it is: calls in flight are
// cancelled, leases released, goroutines waited for. Safe to call twice.
func (c *Conn) Close() {
	c.end()
	c.mu.Lock()
	ports := c.ports
	c.ports = map[*mux.Mux]*port{}
	for _, l := range c.lanes {
		l.current = nil
	}
	for _, p := range ports {
		p.unpin()
	}
	c.mu.Unlock()
	for _, p := range ports {
		p.Detach()
	}
	c.wg.Wait()
}

// begin counts a request that the host waits for, done one that is over: mark is
// its line's.
func (c *Conn) begin() { c.open.Add(1) }

func (c *Conn) done(mark int64) {
	c.dealt(mark)
	c.over()
}

// over ends the host's wait for a request.
func (c *Conn) over() {
	if c.open.Add(-1) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet != nil && c.open.Load() == 0 {
		close(c.quiet)
		c.quiet = nil
	}
}

// tooLong answers a line over the cap, if it can be told which request it was.
func (c *Conn) tooLong(long *stdio.TooLong) {
	id, kind, ok := wire.PeekID(long.Head, long.Tail)
	if ok && kind != wire.Request {
		return // a response, which gets no answer
	}
	t := upstream.Trouble{Reason: fmt.Sprintf("the message is %d bytes, more than the %d MiB that are carried", long.Size, stdio.MaxLine>>20)}
	c.send(wire.AppendError(nil, id, wire.CodeInvalid, t.Reason, t.Data()))
}

// tooSlow is what a host is told in place of an answer that finds 64 MiB before it.
const tooSlow = "the host reads too slowly: the answer did not fit in its queue"

// send writes whole lines to the host, none once the connection is closed. An
// answer that does not fit in the queue becomes an error (threat T34); should
// that not fit either, the host has 64 MiB to read first and learns from its own
// time-out.
func (c *Conn) send(line []byte) {
	if c.life.Err() != nil {
		return
	}
	if err := c.out.Write(line); errors.Is(err, stdio.ErrFull) {
		env, scanErr := wire.Scan(bytes.TrimRight(line, "\n"))
		if scanErr == nil && (env.Kind == wire.Result || env.Kind == wire.Error) {
			_ = c.out.Write(wire.AppendError(nil, env.Bytes(env.ID), wire.CodeInternal, tooSlow, upstream.Trouble{Reason: tooSlow}.Data()))
		}
	}
}

// reply writes the answer to a request, into its batch if it came in one.
func (c *Conn) reply(line []byte) {
	c.mu.Lock()
	batched := len(c.batches) > 0
	c.mu.Unlock()
	if !batched || !c.collect(line) {
		c.send(line)
	}
}

// callContext is the caller as scopes see it, but for its directory.
func (c *Conn) callContext() scope.CallContext {
	cc := scope.CallContext{
		Session: c.who.Session, Parent: c.who.Parent,
		PID: c.who.Host.PID, PIDStart: c.who.Host.Start,
	}
	if c.alone {
		cc.Session = ""
	}
	return cc
}

// callID mints the id of a call with a process of its own. It says whose the call
// is where no session does.
func (c *Conn) callID() string {
	if c.alone {
		return fmt.Sprintf("%s.%d", c.who.Session, c.calls.Add(1))
	}
	return c.o.CallID()
}

// makes reports whether key is that of a call of this connection's, which is alone.
func (c *Conn) makes(key string) bool {
	return c.alone && strings.HasPrefix(key, scope.Call.Key(scope.CallContext{CallID: c.who.Session + "."}))
}
