package session

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
)

// fill has the server hold as many calls as it may have, 1 to maxInFlight.
func (s *stage) fill() *fakeServer {
	s.t.Helper()
	s.greet(plain)
	for id := 1; id <= maxInFlight; id++ {
		s.sends(call(id, "hold"))
	}
	return s.servers.of("cwd:/desk")
}

func TestCallsAboveTheWindowWaitInOrder(t *testing.T) {
	play(t, nil, func(s *stage) {
		srv := s.fill()
		s.sends(call(101, "a"), call(102, "b"), call(103, "c"))
		if got, want := srv.methods(), strings.TrimSpace(strings.Repeat("tools/call:hold ", maxInFlight)); got != want {
			t.Errorf("the server got %q, want as many calls as it may have", got)
		}
		// None of these waits.
		s.sends(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		s.gets(`{"jsonrpc":"2.0","id":"p","result":{}}`)
		s.sends(cancel(102))
		s.sends(cancel(1)) // one that the server has makes room for one that waits
		s.gets(by(101, "cwd:/desk"), by(103, "cwd:/desk"))
		srv.let()
		synctest.Wait()
		if got := len(s.got()); got != maxInFlight-1 {
			t.Errorf("got %d answers to what the server held, want %d", got, maxInFlight-1)
		}
		if got := srv.methods(); strings.Contains(got, "tools/call:b") {
			t.Errorf("the server got the call that was cancelled while it waited: %q", got)
		}
		s.sends(call(200, "a")) // nothing is left of all this
		s.gets(by(200, "cwd:/desk"))
	})
}

func TestAWaitForTheWindowEndsWithAnErrorThatNamesIt(t *testing.T) {
	play(t, nil, func(s *stage) {
		srv := s.fill()
		s.sends(call(101, "a"))
		time.Sleep(20 * time.Second)
		s.sends(call(102, "b"))
		time.Sleep(40 * time.Second)
		s.refuses(101, wire.CodeInternal, `server "srv": 64 calls of this connection are in flight, which is the most there may be, and this one waited 1m0s behind them`)
		time.Sleep(19 * time.Second)
		s.gets()
		time.Sleep(time.Second)
		s.refuses(102, wire.CodeInternal, `server "srv": 64 calls of this connection are in flight, which is the most there may be, and this one waited 1m0s behind them`)
		srv.let()
		s.got()
	})
}

// Who waits behind a start has not waited for the window.
func TestAStartIsNoPartOfTheWaitForTheWindow(t *testing.T) {
	play(t, func(s *stage) { s.servers.slow = 50 * time.Second }, func(s *stage) {
		s.sends(plain, initialized)
		for id := 1; id <= maxInFlight; id++ {
			s.sends(call(id, "hold"))
		}
		s.sends(call(101, "a"))
		time.Sleep(100 * time.Second)
		srv := s.servers.of("cwd:/desk")
		if got := s.got(); len(got) != 1 {
			t.Errorf("the host got %q, want the answer to initialize alone", got)
		}
		srv.let()
		synctest.Wait()
		if got := s.got(); len(got) != maxInFlight+1 {
			t.Errorf("got %d answers, want %d", len(got), maxInFlight+1)
		}
	})
}

func TestWaitingRequestsAreBounded(t *testing.T) {
	play(t, nil, func(s *stage) {
		srv := s.fill()
		text := strings.Repeat("x", 3<<20)
		large := func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","x":%q}}`, id, text)
		}
		s.sends(large(100), large(101), large(102)) // the first is at the head: only two wait
		s.gets()
		s.sends(large(103))
		want := problem{103, wire.CodeInternal, `server "srv": 8 MiB of this connection's requests are waiting, which is the most that may`}
		got := s.got()
		if len(got) != 1 {
			t.Fatalf("got %d answers, want the refusal", len(got))
		}
		if diff := cmp.Diff(want, problemOf(t, got[0])); diff != "" {
			t.Errorf("the error (-want +got):\n%s", diff)
		}
		if !strings.Contains(got[0], `"reason":"server `) || !strings.Contains(got[0], `"hint":"`) {
			t.Errorf("got %s, want a reason and a hint", got[0])
		}
		s.sends(cancel(101), large(104)) // one that leaves makes room
		s.gets()
		srv.let()
		synctest.Wait()
		if got := len(s.got()); got != maxInFlight+3 {
			t.Errorf("got %d answers, want %d", got, maxInFlight+3)
		}
	})
}

func TestAFullWindowOfOneServerHoldsBackNoList(t *testing.T) {
	play(t, func(s *stage) {
		s.world.configure("", view(server(scope.Call)))
		s.servers.keep(map[string]string{"tools/list": tools})
	}, func(s *stage) {
		s.greet(plain)
		for id := 1; id <= maxInFlight+1; id++ {
			s.sends(call(id, "hold"))
		}
		s.sends(list(100, "tools"))
		s.gets(result(100, tools))
		s.conn.Close() // takes those along that wait
		s.gets()
	})
}

func TestAConnectionThatEndsTakesItsWaitingCallsAlong(t *testing.T) {
	play(t, nil, func(s *stage) {
		srv := s.fill()
		s.sends(call(101, "a"))
		s.conn.Close()
		if got := srv.methods(); strings.Contains(got, "tools/call:a") {
			t.Errorf("the server got a call of a connection that is closed: %q", got)
		}
		s.gets()
	})
}

// TestNewCallsArriveByAndByWhileOthersCall holds what report E asks for: who sends
// many calls at once does not have them all before another's.
func TestNewCallsArriveByAndByWhileOthersCall(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		s.gets(by(1, "cwd:/desk"))
		srv := s.servers.of("cwd:/desk")
		calls := func() int { return strings.Count(srv.methods(), "tools/call:hold") }
		other := srv.mux.Attach(bystander{}, "other")
		env, err := wire.Scan([]byte(call(1, "b")))
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Request(&env, mux.CallOptions{}); err != nil {
			t.Fatal(err)
		}
		for id := 10; id < 20; id++ {
			s.sends(call(id, "hold"))
		}
		for want := mux.Few; want <= 10; want += mux.Few {
			synctest.Wait()
			if got := calls(); got != want {
				t.Fatalf("the server has %d calls, want %d", got, want)
			}
			time.Sleep(mux.Moment)
		}
		time.Sleep(time.Second) // nobody else calls any more
		for id := 20; id < 30; id++ {
			s.sends(call(id, "hold"))
		}
		synctest.Wait()
		if got := calls(); got != 20 {
			t.Errorf("alone, the server has %d calls, want all 20", got)
		}
		srv.let()
		s.got()
	})
}

// bystander is a host that listens to nothing.
type bystander struct{}

func (bystander) Response(string, []byte)                   {}
func (bystander) Notification(string, []byte)               {}
func (bystander) Ask(string, *mux.Question, *wire.Envelope) {}
func (bystander) Withdraw(*mux.Question, *wire.Envelope)    {}
