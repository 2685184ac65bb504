package mux

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// TestErasNeverMeet has hosts of both eras call servers of either, which ask
// before they answer, under ids and tokens that collide. Hosts cancel, answer
// with errors, come back with answers, and in the end leave without. Whoever gets
// anything checks that it is his; nothing is left.
func TestErasNeverMeet(t *testing.T) {
	tests := []struct {
		name   string
		server upstream.Era
		asking Asking
		hosts  []bool // modern
		calls  int
	}{
		{"a legacy server of many", upstream.Legacy, AskCaller, []bool{false, true, false, true, false, true}, 30_000},
		{"a legacy server of one modern host", upstream.Legacy, AskOwner, []bool{true}, 30_000},
		{"a legacy server of one legacy host", upstream.Legacy, AskOwner, []bool{false}, 10_000},
		{"a modern server of many", upstream.Modern, AskNobody, []bool{false, true, false, true, false, true}, 30_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rounds := tt.calls / len(tt.hosts) / len(hostIDs)
			if testing.Short() {
				rounds /= 20
			}
			s := &curious{t: t, era: tt.server, calls: map[string]*pursuit{}, open: map[string]*pursuit{}, states: map[string]*pursuit{}}
			s.cond = sync.NewCond(&s.mu)
			m := New(s, Options{Server: "srv", Asking: tt.asking})
			var wg sync.WaitGroup
			var hosts []*frank
			for n, modern := range tt.hosts {
				h := &frank{t: t, name: n, modern: modern, owed: map[string]owed{}, settled: make(chan struct{}, 1)}
				h.port = m.Attach(h, fmt.Sprint(n))
				h.port.Introduce([]byte(`{"name":"h"}`), []byte(`{"elicitation":{}}`))
				hosts = append(hosts, h)
				wg.Go(func() {
					defer h.port.Detach()
					for round := range rounds + 1 {
						h.ask(round)
						<-h.settled
					}
					h.mu.Lock()
					h.leaving = true // with all of these in flight, or parked
					h.mu.Unlock()
					h.ask(rounds + 1)
				})
			}
			wg.Wait()
			s.close()
			<-m.Done()
			if got := m.Stats(); got.InFlight != 0 || got.Ports != 0 || len(m.questions) != 0 || len(m.subs) != 0 {
				t.Errorf("left behind: %+v and %d questions", got, len(m.questions))
			}
			for _, h := range hosts {
				if sent, done, kept := h.sent.Load(), h.done.Load(), h.kept.Load(); sent != done || kept != 0 {
					t.Errorf("host %d: %d requests, %d done, %d instances kept", h.name, sent, done, kept)
				}
				if asked := h.asked.Load(); asked == 0 && len(tt.hosts) == 1 {
					t.Errorf("host %d was asked nothing", h.name)
				}
			}
		})
	}
}

// frank is a host that answers each question with what it says.
type frank struct {
	t                       *testing.T
	name                    int
	modern                  bool
	port                    *Port
	sent, done, kept, asked atomic.Int64

	mu      sync.Mutex // guards what follows
	owed    map[string]owed
	retries int
	leaving bool // it comes back no more
	settled chan struct{}
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`

// Keep counts (Lease).
func (h *frank) Keep() func() {
	h.kept.Add(1)
	return func() { h.kept.Add(-1) }
}

func (h *frank) line(id, token, payload, more string) string {
	var meta []string
	if h.modern {
		meta = append(meta, modernMeta)
	}
	if token != "" {
		meta = append(meta, `"progressToken":`+token)
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + more + `"name":` + payload + `,"_meta":{` + strings.Join(meta, ",") + `}}}`
}

func (h *frank) ask(round int) {
	lines := map[string]string{}
	h.mu.Lock()
	for i, id := range hostIDs {
		o := owed{fmt.Sprintf(`"%d/%d/%d"`, h.name, round, i), tokens[(round+i+h.name)%len(tokens)]}
		h.owed[id] = o
		lines[id] = h.line(id, o.token, o.payload, "")
	}
	h.mu.Unlock()
	for id, line := range lines {
		h.send(id, line)
		if rand.IntN(30) == 0 {
			h.cancel(id)
		}
	}
}

func (h *frank) send(id, line string) {
	env, err := wire.Scan([]byte(line))
	if err != nil {
		h.t.Error(err)
		return
	}
	h.sent.Add(1)
	if err := h.port.Request(&env, CallOptions{Modern: h.modern, Done: func() { h.done.Add(1) }, Lease: h}); err != nil {
		h.t.Errorf("%s: %v", line, err)
	}
}

func (h *frank) cancel(id string) {
	env, err := wire.Scan([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
	if err != nil {
		h.t.Error(err)
	} else if h.port.Cancel(&env) {
		h.settle(id)
	}
}

// settle takes a request off what is owed.
func (h *frank) settle(id string) owed {
	h.mu.Lock()
	defer h.mu.Unlock()
	o, ok := h.owed[id]
	if !ok {
		h.t.Errorf("host %d got an answer to %s that it is not owed", h.name, id)
	}
	delete(h.owed, id)
	if len(h.owed) == 0 {
		h.settled <- struct{}{}
	}
	return o
}

func (h *frank) Response(_ string, line []byte) {
	env, err := wire.Scan(line[:len(line)-1])
	if err != nil {
		h.t.Error(err)
		return
	}
	id, result := string(env.Bytes(env.ID)), env.Bytes(env.Result)
	if env.Kind == wire.Result && env.Text(env.ResultType) == "input_required" {
		h.comeBack(id, result)
		return
	}
	o := h.settle(id)
	if env.Kind == wire.Error {
		if got := string(env.Bytes(env.Error)); !strings.Contains(got, "answered the server's question with an error") {
			h.t.Errorf("host %d: %s", h.name, got)
		}
	} else if at, _ := wire.Member(result, "by"); string(result[at.Start:at.End]) != o.payload {
		h.t.Errorf("host %d, id %s: got %s, want %s", h.name, id, result, o.payload)
	}
}

// comeBack makes a request once more with the answers, under another id; or not.
func (h *frank) comeBack(id string, result []byte) {
	var answers []string
	at, _ := wire.Member(result, "inputRequests")
	asks := result[at.Start:at.End]
	for name, value := range wire.Members(asks) {
		at, _ := wire.Member(asks[value.Start:value.End], "params")
		answers = append(answers, string(asks[name.Start:name.End])+":"+h.echo(asks[value.Start:value.End][at.Start:at.End]))
	}
	at, _ = wire.Member(result, "requestState")
	state := string(result[at.Start:at.End])
	h.mu.Lock()
	h.retries++
	again := fmt.Sprintf(`"again %d"`, h.retries)
	o := h.owed[id]
	if !h.leaving {
		o.token = tokens[h.retries%len(tokens)]
		h.owed[again] = o
	} else {
		again = ""
	}
	h.mu.Unlock()
	h.settle(id)
	if again != "" {
		h.send(again, h.line(again, o.token, o.payload, `"inputResponses":{`+strings.Join(answers, ",")+`},"requestState":`+state+`,`))
	}
}

// echo is the answer to a question, which must be this host's.
func (h *frank) echo(params []byte) string {
	h.asked.Add(1)
	at, _ := wire.Member(params, "message")
	message := string(params[at.Start:at.End])
	if !strings.HasPrefix(message, fmt.Sprintf(`"%d/`, h.name)) {
		h.t.Errorf("host %d was asked %s", h.name, message)
	}
	return `{"action":"accept","echo":` + message + `}`
}

func (h *frank) Ask(_ string, q *Question, env *wire.Envelope) {
	if h.modern {
		h.t.Errorf("host %d cannot be asked %s", h.name, env.Line)
	}
	text := `{"jsonrpc":"2.0","id":1,"result":` + h.echo(env.Bytes(env.Params)) + `}`
	if rand.IntN(20) == 0 {
		text = `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`
	}
	answer, err := wire.Scan([]byte(text))
	if err != nil {
		h.t.Error(err)
		return
	}
	q.Answer(&answer)
}

func (h *frank) Withdraw(*Question, *wire.Envelope) {}

func (h *frank) Notification(_ string, line []byte) {
	env, err := wire.Scan(line[:len(line)-1])
	if err != nil {
		h.t.Error(err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at, _ := wire.Member(env.Bytes(env.Params), "message")
	for o := range maps.Values(h.owed) {
		if o.payload == string(env.Bytes(env.Params)[at.Start:at.End]) && o.token == string(env.Bytes(env.Token)) {
			return
		}
	}
	h.t.Errorf("host %d got progress that it is not owed: %s", h.name, line)
}

// pursuit is a call that a server is at.
type pursuit struct {
	id, payload string
	asks        int
}

// curious is a server that asks before it answers, some of the time.
type curious struct {
	t      *testing.T
	era    upstream.Era
	calls  map[string]*pursuit // by id
	open   map[string]*pursuit // by the id of a legacy server's question
	states map[string]*pursuit // that hosts of a modern one were given

	mu      sync.Mutex // guards what follows
	cond    *sync.Cond
	waiting []string
	closed  bool
}

func (s *curious) Handshake() upstream.Handshake { return upstream.Handshake{Era: s.era} }
func (s *curious) Failure() error                { return nil }
func (s *curious) Roots() []byte                 { return nil }

func (s *curious) Write(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n")...)
	s.cond.Signal()
	return nil
}

func (s *curious) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cond.Signal()
}

func (s *curious) Serve(handle func(*wire.Envelope)) error {
	random := rand.New(rand.NewPCG(3, 4))
	say := func(format string, args ...any) {
		env, err := wire.Scan(fmt.Appendf(nil, format, args...))
		if err != nil {
			s.t.Errorf(format+": %v", append(args, err)...)
			return
		}
		handle(&env)
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
		for _, line := range batch {
			env, err := wire.Scan([]byte(line))
			if err != nil {
				s.t.Errorf("the server got %s: %v", line, err)
				return nil
			}
			if p := s.take(&env, random); p != nil {
				s.pursue(p, random, say)
			}
		}
	}
}

// take takes a line in, and returns the call that it is time to go on with.
func (s *curious) take(env *wire.Envelope, random *rand.Rand) *pursuit {
	id := string(env.Bytes(env.ID))
	switch env.Kind {
	case wire.Request:
		p := &pursuit{id: id, payload: string(env.Bytes(env.Name))}
		if state := string(env.Bytes(env.RequestState)); state != "" {
			before := s.states[state]
			delete(s.states, state)
			if before == nil || before.payload != p.payload || strings.Count(string(env.Bytes(env.InputResponses)), `"echo":`+p.payload) != 2 {
				s.t.Errorf("a retry that was not asked for: %s", env.Line)
				return nil
			}
			p.asks = before.asks
		}
		if s.era == upstream.Legacy && strings.Contains(string(env.Line), "io.modelcontextprotocol/") {
			s.t.Errorf("a legacy server got %s", env.Line)
		}
		s.calls[id] = p
		return p
	case wire.Notification:
		if random.IntN(2) == 0 { // else it answers all the same
			delete(s.calls, string(env.Bytes(env.RequestID)))
		}
		return nil
	}
	p := s.open[id]
	delete(s.open, id)
	if p == nil || env.Kind == wire.Result && !strings.Contains(string(env.Bytes(env.Result)), p.payload) {
		s.t.Errorf("an answer that was not asked for: %s", env.Line)
	}
	return p
}

// pursue asks, or answers, with progress before and after.
func (s *curious) pursue(p *pursuit, random *rand.Rand, say func(string, ...any)) {
	if s.calls[p.id] != p {
		return // it was cancelled
	}
	say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"message":%s}}`, p.id, p.payload)
	question := hostIDs[random.IntN(len(hostIDs))]
	switch {
	case p.asks == 3 || random.IntN(2) == 0 || s.era == upstream.Legacy && s.open[question] != nil:
		delete(s.calls, p.id)
		say(`{"jsonrpc":"2.0","id":%s,"result":{"by":%s}}`, p.id, p.payload)
		say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"message":%s}}`, p.id, p.payload)
	case s.era == upstream.Legacy:
		p.asks++
		s.open[question] = p
		say(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":%s}}`, question, p.payload)
	default:
		p.asks++
		state := fmt.Sprintf(`"%d \u0041"`, random.Int())
		s.states[state] = p
		delete(s.calls, p.id)
		say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":%s,"inputRequests":{"a\u0062":{"method":"elicitation/create","params":{"message":%s}},"r2":{"method":"elicitation/create","params":{"message":%[3]s}}}}}`, p.id, state, p.payload)
	}
}
