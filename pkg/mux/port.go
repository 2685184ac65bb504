package mux

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Port is one session's place on a Mux.
type Port struct {
	m    *Mux
	peer Peer

	send sync.Mutex // orders what the port writes; taken before Mux.mu

	// Guarded by Mux.mu.
	owner     string
	calls     map[string]*call // by canonical id
	parked    map[string]*call // by the state that the host was given
	questions int              // of the server's that the host has not answered
	level     level            // of logging/setLevel, 0 when never set
	detached  bool
	modern    bool // its host has spoken the modern era
	meta      era.Meta
	extra     era.Extra // meta, as it is put into requests to a modern server
}

// Attach gives peer a place; it holds no lease. owner is the session, to which
// tasks belong beyond a connection.
func (m *Mux) Attach(peer Peer, owner string) *Port {
	p := &Port{m: m, peer: peer, owner: owner, calls: map[string]*call{}, parked: map[string]*call{}, meta: m.hs.Meta, extra: m.extra}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ports = append(m.ports, p)
	return p
}

// Introduce says who the host is and what it can do: clientInfo and capabilities
// of its initialize, raw. A modern server is told both with each request, since
// it asks in its answer to the very host; a legacy one never hears of them.
func (p *Port) Introduce(clientInfo, capabilities []byte) {
	m := p.m
	caps := era.ClientCapabilities(slices.Clone(capabilities), m.hs.Roots)
	if m.asking == AskNever {
		caps = unasked(caps)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(clientInfo) > 0 {
		p.meta.ClientInfo = slices.Clone(clientInfo)
	}
	p.meta.Capabilities = caps
	p.extra = p.meta.Extra()
}

// CallOptions are one request's.
type CallOptions struct {
	Timeout time.Duration // inactivity; progress resets it; 0 = none
	Max     time.Duration // in all, whatever its progress (threat T34); 0 = none
	Done    func()        // called once, when nothing of the call is left: a lease's Release
	Modern  bool          // the host is of the modern era: this request says so
	Edits   []wire.Edit   // what the server is told in place of what the host wrote: its own names

	// Lease holds the instance for a task that the call begins; nil when nobody
	// would take it away. It is asked before Done.
	Lease Lease
}

// Lease is what keeps an instance; *pool.Lease is one.
type Lease interface {
	// Keep holds the instance until release.
	Keep() (release func())
}

// Request forwards env. Exactly one Response follows, unless it is cancelled
// first or the port is detached. An error means nothing was sent, nothing
// follows and Done was not called; it is an *Error, to be answered to the host,
// or when Gone to be tried on another instance.
func (p *Port) Request(env *wire.Envelope, o CallOptions) error {
	m := p.m
	key, ok := wire.CanonicalID(env.Bytes(env.ID))
	if !ok {
		return m.invalid("the id is neither a string nor an integer")
	}
	c := m.entry(env, key, methodOf(env))
	c.port, c.timeout, c.max, c.done, c.lease, c.modern = p, o.Timeout, o.Max, o.Done, o.Lease, o.Modern
	if o.Modern {
		c.level = levelOf(env.Text(env.LogLevel))
		c.caps = append(c.caps, env.Bytes(env.ClientCapabilities)...)
	}
	p.send.Lock()
	defer p.send.Unlock()
	if o.Modern && !m.modern() {
		if again, err := p.retry(c, env); err != nil {
			return err
		} else if again {
			return nil
		}
	}
	edit, forward, err := p.prepare(c, env, o.Edits)
	switch {
	case err != nil:
	case forward:
		err = p.dispatch(c, env, edit, o)
	default:
		err = m.answerLocally(c)
	}
	if err != nil {
		return err
	}
	return nil
}

// dispatch enters c into the table and sends it. From then on c is whoever's
// takes it out, so only its id is used.
func (p *Port) dispatch(c *call, env *wire.Envelope, edit wire.Edit, o CallOptions) *Error {
	m := p.m
	id, refused := m.enter(c)
	if refused != nil {
		m.discard(c)
		return refused
	}
	if o.heard(m, env) {
		m.tellLevel()
	}
	err := m.write(p, env, id, edit, o)
	if err == nil {
		return nil
	}
	if c = m.take(id); c == nil {
		return nil // the upstream's end has answered it meanwhile: its one Response
	}
	m.discard(c)
	return m.unwritten(err)
}

// write sends env under the id of the Mux's own (W1, W3).
func (m *Mux) write(p *Port, env *wire.Envelope, id uint64, edit wire.Edit, o CallOptions) error {
	var digits [20]byte
	n := strconv.AppendUint(digits[:0], id, 10)
	var few [8]wire.Edit
	edits := append(few[:0], wire.Edit{At: env.ID, With: n}, wire.Edit{At: env.ProgressToken, With: n}, edit)
	edits = m.toServer(edits, p, env, o.Modern)
	line := m.line()
	defer m.give(line)
	*line = env.Append(*line, append(edits, o.Edits...)...)
	if m.modern() && !o.Modern && era.MayAsk(methodOf(env)) {
		m.note(id, *line)
	}
	if o.heard(m, env) && m.hold(id, *line) {
		return nil
	}
	return m.conn.Write(*line)
}

// heard reports whether a legacy server must be told that its log is wanted.
func (o CallOptions) heard(m *Mux, env *wire.Envelope) bool {
	return o.Modern && !m.modern() && !env.LogLevel.Empty()
}

func (p *Port) introduction() era.Extra {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.extra
}

// Notify forwards a notification (W13). Those that are a matter between the
// host and mcpx go no further.
func (p *Port) Notify(env *wire.Envelope) error {
	switch methodOf(env) {
	case "notifications/initialized", "notifications/roots/list_changed":
		return nil
	case "notifications/cancelled":
		p.Cancel(env)
		return nil
	}
	line := p.m.line()
	defer p.m.give(line)
	*line = env.Append(*line)
	p.send.Lock()
	defer p.send.Unlock()
	if err := p.m.conn.Write(*line); err != nil {
		return p.m.unwritten(err)
	}
	return nil
}

// Cancel forwards notifications/cancelled for a request of this port; false
// when it knows no such request (W4, threat T21). No Response follows.
func (p *Port) Cancel(env *wire.Envelope) bool {
	key, ok := wire.CanonicalID(env.Bytes(env.RequestID))
	if !ok {
		return false
	}
	c := p.cancel(key, env)
	if c == nil {
		return false
	}
	p.m.finish(c)
	return true
}

func (p *Port) cancel(key string, env *wire.Envelope) *call {
	p.send.Lock()
	defer p.send.Unlock()
	c := p.take(key)
	if c == nil || !c.withServer() {
		return c
	}
	var digits [20]byte
	line := p.m.line()
	defer p.m.give(line)
	*line = env.Append(*line, wire.Edit{At: env.RequestID, With: strconv.AppendUint(digits[:0], c.id, 10)})
	_ = p.m.conn.Write(*line) // a server that takes no more lines will not work on the call either
	return c
}

func (p *Port) take(key string) *call {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	c := p.calls[key]
	if c != nil {
		p.m.removeLocked(c)
		p.m.hauntLocked(c, time.Now())
	}
	return c
}

// Detach cancels what the port has in flight and takes it away, with its
// subscriptions and its logging level. Further calls do nothing.
func (p *Port) Detach() {
	for _, c := range p.leave() {
		p.m.finish(c)
	}
}

// leave tells the server what nobody waits for any more and returns the calls.
func (p *Port) leave() []*call {
	m := p.m
	p.send.Lock()
	defer p.send.Unlock()
	calls, open, released, lines := p.detach()
	for _, release := range released {
		release()
	}
	for _, c := range calls {
		if c.withServer() {
			m.giveUp(c.id, "the session has ended")
		}
	}
	m.abandon(open, "the session has ended")
	if len(lines) > 0 {
		_ = m.conn.Write(lines) // nobody is left to tell
	}
	return calls
}

func (p *Port) detach() (calls []*call, open []*Question, released []func(), lines []byte) {
	m := p.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.detached {
		return nil, nil, nil, nil
	}
	p.detached = true
	calls = slices.AppendSeq(slices.Collect(maps.Values(p.calls)), maps.Values(p.parked))
	now := time.Now()
	for _, c := range calls {
		m.removeLocked(c)
		m.hauntLocked(c, now)
	}
	open = m.questionsLocked(func(q *Question) bool { return q.port == p })
	m.elicits.forget(p)
	m.ports = slices.DeleteFunc(m.ports, func(q *Port) bool { return q == p })
	return calls, open, m.leaveTasksLocked(p), append(m.unsubscribeAllLocked(p), m.relaxLevelLocked()...)
}
