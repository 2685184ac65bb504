package session

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/visibility"
	"github.com/dezren39/mcpx/pkg/wire"
)

// chooses does what a person typed to the session of a stage.
func (s *stage) chooses(op visibility.Op, names ...string) {
	s.t.Helper()
	session := &Session{conns: []*Conn{s.conn}}
	o, err := session.Decision().Change(op, names...)
	if err == nil {
		err = session.Switch(o)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestASwitchIsTheSessionsAndOutranksRules(t *testing.T) {
	for _, to := range []string{"srv", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			play(t, func(s *stage) {
				s.hello.Server = to
				s.servers.keep(map[string]string{"tools/list": tools})
				s.world.rule(ruling(t, `{"default":[]}`))
			}, func(s *stage) {
				s.greet(plain)
				tool := map[string]string{"srv": "a", "": "srv__a"}[to]
				s.sends(list(1, "tools"))
				s.got()
				s.chooses(visibility.Show, "srv")
				s.gets(changed("tools"))
				s.sends(call(2, tool))
				s.gets(by(2, "cwd:/desk"))
				s.rules(`{"rules":[{"path":"/desk","servers":[]}]}`) // a save does not undo it
				s.sends(call(3, tool))
				s.gets(by(3, "cwd:/desk"))
				s.chooses(visibility.Nothing)
				s.got()
				s.sends(call(4, tool))
				s.refuses(4, wire.CodeInvalidParams, `unknown tool "`+tool+`"`)
				if seen := s.conn.Snapshot().Servers[0]; seen.State != "hidden by switch" {
					t.Errorf("the state is %q", seen.State)
				}
				s.rules(`{"default":"*"}`)
				s.sends(call(5, tool))
				s.refuses(5, wire.CodeInvalidParams, `unknown tool "`+tool+`"`)
				s.chooses(visibility.Reset)
				s.got()
				s.sends(call(6, tool))
				s.gets(by(6, "cwd:/desk"))
			})
		})
	}
}

func TestTheNextDaemonKnowsWhatWasChosen(t *testing.T) { // design D8
	var kept []byte
	play(t, func(s *stage) { s.keep = func(b []byte) error { kept = bytes.Clone(b); return nil } }, func(s *stage) {
		s.chooses(visibility.Nothing) // before the host has said anything
		if err := (&Session{conns: []*Conn{s.conn}}).SetRoots([]string{"/set", "/outside"}); err != nil {
			t.Fatal(err)
		}
	})
	play(t, func(s *stage) {
		s.resume = kept
		s.may = func(dir string) bool { return dir != "/outside" }
	}, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		s.refuses(1, wire.CodeInvalidParams, `unknown tool "a"`)
		snap := s.conn.Snapshot()
		if diff := cmp.Diff([]string{"/set", "set", "none"}, []string{snap.Dir, string(snap.Origin), snap.Decision.Override.String()}); diff != "" || len(snap.Roots) != 1 {
			t.Errorf("roots %+v (-want +got):\n%s", snap.Roots, diff)
		}
	})
}

func TestAChoiceThatCannotBeKeptIsNotMade(t *testing.T) {
	play(t, func(s *stage) {
		s.keep = func(b []byte) error {
			if len(b) > 500 {
				return &tooMuch{}
			}
			return nil
		}
	}, func(s *stage) {
		s.greet(plain)
		session := &Session{conns: []*Conn{s.conn}}
		err := session.SetRoots([]string{"/" + strings.Repeat("x", 500)})
		if err == nil || s.conn.Snapshot().Dir != "/desk" {
			t.Errorf("got %v, the session stands in %s", err, s.conn.Snapshot().Dir)
		}
		if err := session.SetRoots([]string{"/other"}); err != nil || s.conn.Snapshot().Dir != "/other" {
			t.Errorf("got %v, the session stands in %s", err, s.conn.Snapshot().Dir)
		}
	})
}

func TestASessionsConnectionsShareWhatWasChosen(t *testing.T) {
	now := time.Now()
	table := NewTable(30*time.Second, func([]string, time.Duration) {}, func([]string) {})
	of := func(id string, n uint64, names ...string) *Conn {
		c := conn(t, api.Hello{Flags: api.Flags{Session: id}}, "")
		c.shared.adopt(&choice{N: n, Switch: visibility.Override{Set: true, Names: names}})
		table.Add(c)
		return c
	}
	sees := func(c *Conn) string { return c.shared.chosen().Switch.String() }
	a, b, other := of("a", 3, "old"), of("a", 5, "new"), of("b", 0)
	if sees(a) != "only new" || sees(b) != "only new" || sees(other) != "" {
		t.Errorf("the later of two wins, for its session: %q %q %q", sees(a), sees(b), sees(other))
	}
	of("a", 4, "older")
	if sees(a) != "only new" {
		t.Errorf("an older capsule came later: %q", sees(a))
	}
	if got := table.Session("a"); got == nil || len(got.conns) != 3 || table.Session("nobody") != nil {
		t.Errorf("the session is %+v", got)
	}
	for _, c := range table.Session("a").conns {
		table.Remove(c)
	}
	if table.Session("a") != nil {
		t.Error("a session without connections is open")
	}
	if again := of("a", 0); sees(again) != "only new" {
		t.Errorf("one that comes back at once: %q", sees(again))
	} else {
		table.Remove(again)
	}
	table.Remove(other)
	if len(table.sessions) != 1 {
		t.Errorf("a session with nothing to come back to is kept: %v", table.sessions)
	}
	table.mu.Lock()
	table.sessions["a"].left = now.Add(-time.Minute)
	table.mu.Unlock()
	if later := of("a", 0); sees(later) != "" {
		t.Errorf("the switch outlived its session: %q", sees(later))
	}
}

func TestRootsThatAreSetStandAboveAll(t *testing.T) { // design D10
	play(t, func(s *stage) { s.world.configure("", view(server(scope.Session))) }, func(s *stage) {
		s.sends(telling, initialized)
		s.got()
		s.sends(stands(1, "/desk"), call(1, "a"))
		s.gets(by(1, "session:host:7.1"))
		session := &Session{conns: []*Conn{s.conn}}
		if err := session.SetRoots([]string{"/set", "/two"}); err != nil {
			t.Fatal(err)
		}
		s.gets() // the host is not asked: a person said
		if got := s.servers.rootsChanged(); !slices.Contains(got, "session:host:7.1") {
			t.Errorf("the session's own server was not told: %q", got)
		}
		if got := s.conn.SoftRoots(); len(got) != 2 || got[0].Path != "/set" || got[1].Origin != "set" {
			t.Errorf("its roots are %+v", got)
		}
		s.sends(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, call(2, "a"))
		s.gets(by(2, "session:host:7.1")) // native roots never shadow what was set
		if err := session.SetRoots(nil); err != nil {
			t.Fatal(err)
		}
		s.gets(asked(2))
		s.sends(stands(2, "/elsewhere"), call(3, "a"))
		s.gets(by(3, "session:host:7.1"))
		if got := s.conn.Snapshot().Dir; got != "/elsewhere" {
			t.Errorf("after the reset it stands in %s", got)
		}
	})
}

func TestSetRootsMoveTheNextCall(t *testing.T) {
	for _, to := range []string{"srv", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			play(t, func(s *stage) {
				s.hello.Server = to
				s.servers.keep(map[string]string{"tools/list": tools})
			}, func(s *stage) {
				s.greet(plain)
				tool := map[string]string{"srv": "a", "": "srv__a"}[to]
				s.sends(call(1, tool))
				s.gets(by(1, "cwd:/desk"))
				if err := (&Session{conns: []*Conn{s.conn}}).SetRoots([]string{"/set"}); err != nil {
					t.Fatal(err)
				}
				s.sends(call(2, tool))
				s.gets(by(2, "cwd:/set"))
			})
		})
	}
}
