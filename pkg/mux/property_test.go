package mux

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// TestSessionsNeverMeet has sessions use the same ids and tokens, of every type
// that JSON has for them, against a server that answers in any order. Whoever
// gets an answer or progress checks that it is his, and as he wrote it.
func TestSessionsNeverMeet(t *testing.T) {
	const ports = 8
	rounds := 100_000 / ports / len(hostIDs)
	if testing.Short() {
		rounds /= 20
	}
	conn := newShuffler()
	m := New(conn, Options{Server: "srv"})
	var wg sync.WaitGroup
	for n := range ports {
		h := &careful{t: t, name: n, owed: map[string]owed{}, settled: make(chan struct{}, 1)}
		h.port = m.Attach(h, "")
		wg.Go(func() {
			defer h.port.Detach()
			for round := range rounds + 1 {
				h.ask(round)
				<-h.settled
			}
		})
	}
	wg.Wait()
	conn.close()
	<-m.Done()
	s := m.Stats()
	if s.InFlight != 0 || s.Ports != 0 {
		t.Errorf("left behind: %+v", s)
	}
	if want := int64(ports * (rounds + 1) * len(hostIDs)); s.Calls != want {
		t.Errorf("got %d calls, want %d", s.Calls, want)
	}
}

var (
	hostIDs = []string{`1`, `"1"`, `"01"`, `0`, `""`, `-7`, `9007199254740993`, `"\u0041"`, `"é \" \\"`, `123456789012345678901234567890`}
	tokens  = []string{`1`, `"1"`, `1.5`, `1e3`, `"\u00e9"`, `9007199254740993`, ``}
)

// careful is a session that knows what it is owed.
type careful struct {
	t    *testing.T
	name int
	port *Port

	mu      sync.Mutex // guards owed
	owed    map[string]owed
	settled chan struct{} // nothing is owed
}

// owed is what a request must get: its own payload, progress under its token.
type owed struct{ payload, token string }

// ask sends a request under each id; now and then it cancels one of them.
func (h *careful) ask(round int) {
	type request struct{ id, line string }
	var requests []request
	h.mu.Lock()
	for i, id := range hostIDs {
		token := tokens[(round+i+h.name)%len(tokens)]
		payload := fmt.Sprintf(`"%d/%d/%d"`, h.name, round, i)
		meta := ""
		if token != "" {
			meta = `"_meta":{"progressToken":` + token + `},`
		}
		h.owed[id] = owed{payload, token}
		requests = append(requests, request{id, `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + meta + `"name":` + payload + `}}`})
	}
	h.mu.Unlock()
	for i, r := range requests {
		h.send(r.line)
		if (round+i)%37 == 0 && h.cancel(r.id) {
			h.settle(r.id)
		}
	}
}

func (h *careful) send(line string) {
	env, err := wire.Scan([]byte(line))
	if err != nil {
		h.t.Error(err)
		return
	}
	if err := h.port.Request(&env, CallOptions{}); err != nil {
		h.t.Errorf("%s: %v", line, err)
	}
}

func (h *careful) cancel(id string) bool {
	env, err := wire.Scan([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
	if err != nil {
		h.t.Error(err)
		return false
	}
	return h.port.Cancel(&env)
}

func (h *careful) settle(id string) owed {
	h.mu.Lock()
	defer h.mu.Unlock()
	o, ok := h.owed[id]
	if !ok {
		h.t.Errorf("session %d got an answer to %s that it is not owed", h.name, id)
	}
	delete(h.owed, id)
	if len(h.owed) == 0 {
		h.settled <- struct{}{}
	}
	return o
}

func (h *careful) Response(method string, line []byte) {
	env, err := wire.Scan(line[:len(line)-1])
	if err != nil {
		h.t.Error(err)
		return
	}
	o := h.settle(string(env.Bytes(env.ID)))
	if got := string(env.Bytes(env.Result)); got != o.payload || method != "tools/call" {
		h.t.Errorf("session %d, id %s: got %s, want %s", h.name, env.Bytes(env.ID), got, o.payload)
	}
}

func (h *careful) Ask(_ string, q *Question, env *wire.Envelope) {}

func (h *careful) Withdraw(*Question, *wire.Envelope) {}

func (h *careful) Notification(_ string, line []byte) {
	env, err := wire.Scan(line[:len(line)-1])
	if err != nil {
		h.t.Error(err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at, _ := wire.Member(env.Bytes(env.Params), "message")
	payload := string(env.Bytes(env.Params)[at.Start:at.End])
	for _, o := range h.owed {
		if o.payload == payload && o.token == string(env.Bytes(env.Token)) {
			return
		}
	}
	h.t.Errorf("session %d got progress that it is not owed: %s", h.name, line)
}

// shuffler is a server that answers what waits in any order, some of it under
// ids made strings, with progress before and progress too late.
type shuffler struct {
	mu      sync.Mutex // guards what follows
	cond    *sync.Cond
	waiting []string
	closed  bool
}

func newShuffler() *shuffler {
	s := &shuffler{}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *shuffler) Handshake() upstream.Handshake { return upstream.Handshake{Era: upstream.Legacy} }
func (s *shuffler) Failure() error                { return nil }
func (s *shuffler) Roots() []byte                 { return nil }

func (s *shuffler) Write(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, strings.TrimSuffix(string(lines), "\n"))
	s.cond.Signal()
	return nil
}

func (s *shuffler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cond.Signal()
}

func (s *shuffler) Serve(handle func(*wire.Envelope)) error {
	random := rand.New(rand.NewPCG(1, 2))
	say := func(line string) {
		if env, err := wire.Scan([]byte(line)); err == nil {
			handle(&env)
		}
	}
	for {
		s.mu.Lock()
		for len(s.waiting) == 0 && !s.closed {
			s.cond.Wait()
		}
		batch := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		random.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		for _, line := range batch {
			env, err := wire.Scan([]byte(line))
			if err != nil || env.Kind != wire.Request {
				continue
			}
			id, name := string(env.Bytes(env.ID)), string(env.Bytes(env.Name))
			progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":` + name + `,"progressToken":` + id + `}}`
			say(progress)
			if random.IntN(5) == 0 {
				id = `"` + id + `"`
			}
			say(`{"jsonrpc":"2.0","result":` + name + `,"id":` + id + `}`)
			say(progress)
		}
	}
}
