package session

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

func TestOrderIsKeptWhileAStartIsSlow(t *testing.T) { // design D14
	play(t, func(s *stage) { s.servers.slow = time.Minute }, func(s *stage) {
		s.sends(plain)
		time.Sleep(startWait)
		s.gets(result(0, super))
		s.sends(initialized, call(1, "one"), `{"jsonrpc":"2.0","method":"notifications/x","params":{"name":"two"}}`, call(3, "three"), list(4, "tools"))
		s.gets()
		s.sends(`{"jsonrpc":"2.0","id":5,"method":"ping"}`, plain)
		s.gets(result(5, "{}"))
		time.Sleep(startWait)
		s.gets(result(0, super))
		time.Sleep(time.Minute)
		s.gets(by(1, "cwd:/desk"), by(3, "cwd:/desk"), result(4, tools))
		if got, want := s.servers.of("cwd:/desk").methods(), "tools/call:one notifications/x:two tools/call:three tools/list"; got != want {
			t.Errorf("the server got %q, want %q", got, want)
		}
		if got := s.servers.started(); got != "cwd:/desk" {
			t.Errorf("started: got %q, want one", got)
		}
	})
}

func TestKeptListsDoNotWaitForAStart(t *testing.T) {
	play(t, func(s *stage) {
		s.servers.keep(map[string]string{"tools/list": tools})
		s.servers.slow = time.Minute
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"), list(2, "tools"), list(3, "prompts"))
		s.gets(result(2, tools), result(3, `{"prompts":[]}`))
		time.Sleep(time.Minute)
		s.gets(by(1, "cwd:/desk"))
	})
}

func TestARequestBeforeInitializedWaitsOnce(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.sends(plain, call(1, "a"))
		s.gets(result(0, own))
		time.Sleep(initializedWait)
		s.gets(by(1, "cwd:/desk"))
		s.sends(call(2, "a"))
		s.gets(by(2, "cwd:/desk"))
	})
}

func TestCancel(t *testing.T) {
	t.Run("of a request that waits sends nothing and gets no answer", func(t *testing.T) {
		play(t, func(s *stage) {
			s.servers.keep(nil)
			s.servers.slow = time.Minute
		}, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "first"), call(2, "second"), call(3, "third"), cancel(1), cancel(2))
			time.Sleep(time.Minute)
			s.gets(by(3, "cwd:/desk"))
			if got := s.servers.of("cwd:/desk").methods(); got != "tools/call:third" {
				t.Errorf("the server got %q, want the third call alone", got)
			}
		})
	})
	t.Run("of a request at the server is passed on", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "hold"), call(2, "a"), cancel(1))
			s.gets(by(2, "cwd:/desk"))
			srv := s.servers.of("cwd:/desk")
			if got, want := srv.methods(), "tools/call:hold tools/call:a notifications/cancelled"; got != want {
				t.Errorf("the server got %q, want %q", got, want)
			}
			srv.let() // its late answer is nobody's
			s.gets()
		})
	})
	t.Run("of a request at another instance is passed on there", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(telling)
			s.sends(stands(1, "/main"), call(1, "hold"), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, stands(2, "/tree"), call(2, "a"), cancel(1))
			s.gets(asked(1), asked(2), by(2, "cwd:/tree"))
			if got, want := s.servers.of("cwd:/main").methods(), "tools/call:hold notifications/cancelled"; got != want {
				t.Errorf("the server got %q, want %q", got, want)
			}
		})
	})
	t.Run("of what was never asked changes nothing", func(t *testing.T) {
		play(t, func(s *stage) { s.servers.slow = time.Second }, func(s *stage) {
			s.servers.keep(nil)
			s.greet(plain)
			s.sends(call(1, "a"), cancel(9), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
			time.Sleep(time.Second)
			s.gets(by(1, "cwd:/desk"))
			if got := s.servers.of("cwd:/desk").methods(); got != "tools/call:a" {
				t.Errorf("the server got %q", got)
			}
		})
	})
}

func TestAnIdInUseIsRefusedAndTheFirstRequestAnswered(t *testing.T) { // report E2
	t.Run("while it waits", func(t *testing.T) {
		play(t, func(s *stage) {
			s.servers.keep(nil)
			s.servers.slow = time.Second
		}, func(s *stage) {
			s.greet(plain)
			s.sends(call(7, "a"), call(7, "b"))
			s.refuses(7, wire.CodeInvalid, "this id is in use by an earlier request")
			time.Sleep(time.Second)
			s.gets(by(7, "cwd:/desk"))
		})
	})
	t.Run("while the server has it", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(call(7, "hold"), call(7, "b"))
			s.refuses(7, wire.CodeInvalid, "a request with this id is in flight")
			s.servers.of("cwd:/desk").let()
			s.gets(by(7, "cwd:/desk"))
		})
	})
}

func TestTheCallsOfAnInstanceThatWasLeftEndThere(t *testing.T) { // design D10
	play(t, nil, func(s *stage) {
		s.greet(telling)
		s.sends(stands(1, "/main"), call(1, "hold"), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, stands(2, "/tree"), call(2, "a"))
		s.gets(asked(1), asked(2), by(2, "cwd:/tree"))
		main := s.servers.of("cwd:/main")
		if got := main.mux.Stats().Ports; got != 1 {
			t.Errorf("places on the first instance with a call in flight: got %d, want 1", got)
		}
		main.let()
		s.gets(by(1, "cwd:/main"))
		if got := main.mux.Stats().Ports; got != 0 {
			t.Errorf("places on the first instance: got %d, want none", got)
		}
		if got := s.servers.of("cwd:/tree").mux.Stats().Ports; got != 1 {
			t.Errorf("places on the second: got %d, want 1", got)
		}
	})
}

func TestASessionThatMovedIsNoGuestWhereItWas(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(telling)
		s.sends(stands(1, "/main"), call(1, "a"), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, stands(2, "/tree"))
		s.gets(asked(1), by(1, "cwd:/main"), asked(2))
		if got := s.servers.of("cwd:/main").mux.Stats().Ports; got != 0 {
			t.Errorf("places on the instance of the first directory: got %d, want none", got)
		}
	})
}

func TestCallScopeIsAnInstanceACall(t *testing.T) {
	play(t, func(s *stage) {
		s.world.configure("", view(server(scope.Call)))
		s.servers.keep(nil)
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"), call(2, "a"))
		s.gets(by(1, "call:1"), by(2, "call:2"))
		<-s.servers.of("call:1").dead
		<-s.servers.of("call:2").dead
	})
}

func TestEndOfInputAnswersWhatIsInFlight(t *testing.T) { // design D17
	t.Run("at the server", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "hold"))
			_ = s.in.Close()
			s.gets()
			s.servers.of("cwd:/desk").let()
			<-s.ended
			s.gets(by(1, "cwd:/desk"))
		})
	})
	t.Run("in the queue", func(t *testing.T) {
		play(t, func(s *stage) {
			s.servers.keep(nil)
			s.servers.slow = time.Second
		}, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "a"), call(2, "b"))
			_ = s.in.Close()
			<-s.ended
			s.gets(by(1, "cwd:/desk"), by(2, "cwd:/desk"))
		})
	})
	t.Run("in the handshake", func(t *testing.T) {
		play(t, func(s *stage) { s.servers.slow = time.Second }, func(s *stage) {
			s.sends(plain)
			_ = s.in.Close()
			<-s.ended
			s.gets(result(0, own))
		})
	})
}

// TestCloseLeavesNothing closes at each stage; the bubble finds what stays.
func TestCloseLeavesNothing(t *testing.T) { // design §6
	stages := []struct {
		name   string
		edit   func(s *stage)
		script func(s *stage)
	}{
		{"before the first line", nil, func(*stage) {}},
		{"in the handshake", func(s *stage) { s.servers.slow = time.Second }, func(s *stage) { s.sends(plain) }},
		{"before initialized", nil, func(s *stage) { s.sends(plain, call(1, "a")) }},
		{"while the host is asked", nil, func(s *stage) { s.greet(rooted); s.sends(call(1, "a")) }},
		{"while a server starts", func(s *stage) { s.servers.keep(nil); s.servers.slow = time.Minute }, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "a"), call(2, "b"))
		}},
		{"with calls at two servers", nil, func(s *stage) {
			s.greet(telling)
			s.sends(stands(1, "/main"), call(1, "hold"), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, stands(2, "/tree"), call(2, "hold"))
		}},
		{"in the middle of a batch", nil, func(s *stage) {
			s.greet(plain)
			s.sends("[" + call(1, "hold") + "," + call(2, "a") + "]")
		}},
	}
	for _, tt := range stages {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.edit, func(s *stage) {
				tt.script(s)
				s.got()
				s.conn.Close()
				s.conn.Refresh() // comes too late
				s.conn.Close()
				for key, srv := range s.servers.all {
					if st := srv.mux.Stats(); st.InFlight != 0 || st.Ports != 0 {
						t.Errorf("%s: %d calls, %d places left", key, st.InFlight, st.Ports)
					}
				}
			})
		})
	}
}

func TestWhatFailedIsToldAndForgotten(t *testing.T) {
	play(t, func(s *stage) {
		s.servers.keep(nil)
		s.servers.refuse = &upstream.Failure{Server: "srv", Msg: "exited", Exit: "exit status 3", Stderr: []string{"no licence"}}
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		const want = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"server \"srv\": exited: exit status 3; its last words: \"no licence\"",` +
			`"data":{"mcpx":{"reason":"server \"srv\": exited: exit status 3; its last words: \"no licence\"","server":"srv","exit":"exit status 3","stderr":["no licence"]}}}}`
		s.gets(want)
		if got := s.conn.Snapshot().Servers[0].Reason; got == "" {
			t.Error("status has no reason after a failure")
		}
		s.servers.mu.Lock()
		s.servers.refuse = nil
		s.servers.mu.Unlock()
		time.Sleep(time.Hour) // the back-off
		s.sends(call(2, "a"))
		s.gets(by(2, "cwd:/desk"))
		if got := s.conn.Snapshot().Servers[0].Reason; got != "" {
			t.Errorf("status has %q after a success", got)
		}
	})
}

func TestADeadServerFailsItsCalls(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "hold"))
		s.servers.of("cwd:/desk").end()
		got := s.got()
		if len(got) != 1 || problemOf(t, got[0]).Code != wire.CodeInternal {
			t.Fatalf("the host got %q, want one error", got)
		}
		time.Sleep(time.Hour)
		s.sends(call(2, "a"))
		s.gets(by(2, "cwd:/desk"))
	})
}

func TestAHintIsPassedOn(t *testing.T) {
	play(t, func(s *stage) { s.servers.keep(nil); s.servers.refuse = hinted{errors.New("broken")} }, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		s.gets(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broken","data":{"mcpx":{"reason":"broken","server":"srv","hint":"mend it"}}}}`)
	})
}

type hinted struct{ error }

func (hinted) Hint() string { return "mend it" }

func TestIdsKeepTheirType(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(plain)
		for _, id := range []string{`1`, `"1"`, `-0`, `9007199254740993`, `"\u0041"`, `""`} {
			s.sends(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"a"}}`, id))
			s.gets(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"by":"cwd:/desk"}}`, id))
		}
	})
}

func TestLinesThatMustNotPassCostOnlyThemselves(t *testing.T) { // design D7, threat T7, report H2
	play(t, nil, func(s *stage) {
		s.greet(plain)
		for _, tt := range []struct {
			line string
			want *problem
		}{
			{`{bad`, &problem{0, -32700, ""}},
			{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","Name":"b"}}`, &problem{3, -32600, ""}},
			{`{"jsonrpc":"2.0","method":"notifications/x","METHOD":"y"}`, nil},
			{`{"jsonrpc":"2.0","id":"mcpx-e-9","result":{}}`, nil},
		} {
			s.sends(tt.line)
			got := s.got()
			if tt.want == nil {
				if len(got) > 0 {
					t.Errorf("%s was answered %q", tt.line, got)
				}
				continue
			}
			if len(got) != 1 {
				t.Fatalf("%s was answered %q", tt.line, got)
			}
			p := problemOf(t, got[0])
			p.Message = ""
			if diff := cmp.Diff(*tt.want, p); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.line, diff)
			}
		}
		s.sends(call(1, "a"))
		s.gets(by(1, "cwd:/desk"))
		if got := s.servers.of("cwd:/desk").methods(); got != "tools/call:a" {
			t.Errorf("the server got %q", got)
		}
	})
}
