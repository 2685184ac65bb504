// Package mux lets many sessions share one upstream: it owns ids, progress
// tokens and subscriptions towards the server and restores each session's own
// on the way back (protocol W1-W14). It neither starts nor stops a server.
package mux

import (
	"cmp"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Conn is the upstream a Mux sits on, a process or a remote.
type Conn interface {
	Handshake() upstream.Handshake
	Write(lines []byte) error
	Serve(handle func(*wire.Envelope)) error
	Roots() []byte  // the result of roots/list; nil when the server is offered none. It may ask a session
	Failure() error // why Serve returned: server, exit status, last words
}

// Peer is a session as a Mux sees it. Its methods are called from goroutines of
// the Mux, possibly at once, and must not block; they may call back into it.
// line is a whole line, newline included, valid during the call only. One that
// was under way when its port was detached may still arrive.
type Peer interface {
	// Response delivers the answer to a request, under the session's own id.
	Response(method string, line []byte)
	// Notification delivers what the server says of itself.
	Notification(method string, line []byte)
	// Ask puts a request of the server's to the host, whose id must become one of
	// the session's own. Its end is q.Answer, q.Refuse, or a Withdraw.
	Ask(method string, q *Question, env *wire.Envelope)
	// Withdraw takes q back. env is the server's own notifications/cancelled, its
	// requestId as the server has it; nil when the server is not the reason.
	Withdraw(q *Question, env *wire.Envelope)
}

// Mux shares one upstream. Its goroutines, the reader and the clock, end with
// the upstream; Done says when.
type Mux struct {
	conn    Conn
	server  string
	asking  Asking
	turns   *Turns
	hs      upstream.Handshake
	extra   era.Extra // in the _meta of our own requests to a modern server
	logging bool      // a legacy server can be told a level
	info    []byte    // what a legacy server says of itself, for modern hosts

	entries sync.Pool // of *call
	lines   sync.Pool // of *[]byte
	targets []*Port   // the reader's, for one fan-out
	storm   storm     // likewise

	wake  chan struct{} // the clock has something to do before it thought
	ended chan struct{} // closed when the upstream has ended
	done  chan struct{}

	mu        sync.Mutex // guards what follows and all of a Port but send
	lastID    uint64
	calls     map[uint64]*call
	ports     []*Port
	subs      map[string][]*Port // by resource URI (W8)
	listening listening          // of a modern server
	level     level              // what the server was told (W9)
	held      held
	quiet     time.Time // when it may be told a higher one, zero for not
	logs      rate
	listeners []func(kind string)
	due       [kinds]time.Time     // of coalesced list_changed (W7), zero when none
	local     []func()             // answers of mcpx itself, which the clock gives
	next      time.Time            // when the clock looks again, zero for never
	questions map[string]*Question // the server's, by canonical id
	ghosts    []ghost              // calls given up and not answered, oldest first
	elicits   elicits
	tasks     tasks
	failed    *Error // set when the upstream has ended
	err       error
	stats     Stats
}

// Options say whose server it is, and whose its questions are.
type Options struct {
	Server string
	Asking Asking
	Turns  *Turns // of the machine; nil: of this server alone
}

// New starts reading from conn.
func New(conn Conn, o Options) *Mux {
	m := &Mux{
		conn:   conn,
		server: o.Server,
		asking: o.Asking,
		turns:  cmp.Or(o.Turns, &Turns{}),
		hs:     conn.Handshake(),
		wake:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
		done:   make(chan struct{}),
		calls:  map[uint64]*call{},
		subs:   map[string][]*Port{},

		questions: map[string]*Question{},
	}
	m.entries.New = func() any { return new(call) }
	m.lines.New = func() any { return new([]byte) }
	m.extra = m.hs.Meta.Extra()
	m.info = serverInfo(m.hs.Initialize)
	m.logging = upstream.Offers(m.hs.Initialize, "logging")
	if m.modern() {
		m.listening.lists = listens(m.hs.Result)
		m.listening.want = m.listening.lists
	}
	go m.run()
	return m
}

// run serves the upstream to its end; Done tells its owner that it returned.
func (m *Mux) run() {
	var clock sync.WaitGroup
	clock.Go(m.clock)
	err := m.conn.Serve(m.handle)
	if failure := m.conn.Failure(); failure != nil {
		err = failure
	}
	m.fail(err)
	close(m.ended)
	clock.Wait()
	close(m.done)
}

// modern reports whether requests carry the members of the modern era.
func (m *Mux) modern() bool { return m.hs.Era == upstream.Modern }

// OnListChanged calls f for each burst of notifications/*/list_changed, with
// the list's kind: "tools", "prompts" or "resources". f must not block.
func (m *Mux) OnListChanged(f func(kind string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = append(m.listeners, f)
}

// Stats are for status.
type Stats struct {
	Calls    int64 // requests that sessions sent to the server
	Errors   int64 // of those, answered with an error, ours or the server's
	Dropped  int64 // messages that belonged to nobody, and storms' excess
	Excess   int64 // what came faster than it is passed on: dropped, or told once for many
	Refused  int64 // questions of the server's that could be put to nobody
	InFlight int
	Ports    int
}

// Stats counts.
func (m *Mux) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.InFlight, s.Ports = len(m.calls), len(m.ports)
	return s
}

// Handshake is the upstream's.
func (m *Mux) Handshake() upstream.Handshake { return m.hs }

// Done is closed when the upstream has ended and every call has been answered.
func (m *Mux) Done() <-chan struct{} { return m.done }

// Err says why, once Done is closed.
func (m *Mux) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// line lends a buffer for one line; give takes it back.
func (m *Mux) line() *[]byte { return m.lines.Get().(*[]byte) }

// keptLine is the largest buffer that is kept, until the next collection: large
// enough for the answers that servers give every day.
const keptLine = 1 << 20

func (m *Mux) give(line *[]byte) {
	if cap(*line) <= keptLine {
		*line = (*line)[:0]
		m.lines.Put(line)
	}
}
