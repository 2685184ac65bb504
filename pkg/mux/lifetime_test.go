package mux

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

// counter counts what one request came to.
type counter struct {
	responses, dones    atomic.Int32
	accepted, cancelled bool // the session's own
}

// tally is a session that counts and looks at nothing else.
type tally struct {
	mu sync.Mutex // guards by
	by map[string]*counter
}

func (s *tally) of(id string) *counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.by[id]
	if c == nil {
		c = &counter{}
		s.by[id] = c
	}
	return c
}

func (s *tally) Notification(string, []byte) {}

func (s *tally) Ask(string, *Question, *wire.Envelope) {}
func (s *tally) Withdraw(*Question, *wire.Envelope)    {}
func (s *tally) Response(_ string, line []byte) {
	if env, err := wire.Scan(line[:len(line)-1]); err == nil {
		s.of(string(env.Bytes(env.ID))).responses.Add(1)
	}
}

// TestEachCallEndsOnce has answers, cancels, timeouts, sessions that leave and
// the server's death meet: whatever wins, Done is called once, at most one
// Response comes, and none to a call that was cancelled.
func TestEachCallEndsOnce(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	for seed := range rounds {
		endOnce(t, uint64(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func endOnce(t *testing.T, seed uint64) {
	conn := newShuffler()
	m := New(conn, Options{Server: "srv"})
	lives := make([]*tally, 4)
	var sessions sync.WaitGroup
	for n := range lives {
		sessions.Go(func() { lives[n] = live(t, m, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	if seed%2 == 0 {
		conn.close() // in the middle of it
	}
	sessions.Wait()
	conn.close()
	<-m.Done() // then nothing is under way any more
	for _, s := range lives {
		s.check(t)
	}
}

// live is one session's life.
func live(t *testing.T, m *Mux, random *rand.Rand) *tally {
	s := &tally{by: map[string]*counter{}}
	port := m.Attach(s, "")
	for i := range 200 {
		id := fmt.Sprint(i)
		c := s.of(id)
		env := mustScan(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"x"}}`)
		err := port.Request(&env, CallOptions{
			Timeout: time.Duration(random.IntN(3)) * 100 * time.Microsecond,
			Done:    func() { c.dones.Add(1) },
		})
		c.accepted = err == nil
		if random.IntN(4) == 0 {
			env := mustScan(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
			c.cancelled = port.Cancel(&env)
		}
	}
	port.Detach()
	port.Detach()
	return s
}

func (s *tally) check(t *testing.T) {
	for id, c := range s.by {
		responses, dones := c.responses.Load(), c.dones.Load()
		switch {
		case !c.accepted && (responses > 0 || dones > 0),
			c.accepted && (responses > 1 || dones != 1),
			c.cancelled && responses > 0:
			t.Errorf("id %s, accepted %v, cancelled %v: got %d responses, %d dones", id, c.accepted, c.cancelled, responses, dones)
		}
	}
}

func mustScan(t testing.TB, line string) wire.Envelope {
	t.Helper()
	env, err := wire.Scan([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return env
}
