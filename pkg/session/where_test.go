package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
)

func TestTheFirstCallWaitsForTheRoots(t *testing.T) { // report C9
	play(t, nil, func(s *stage) {
		s.greet(rooted)
		s.gets(asked(1))
		s.sends(call(1, "a"))
		time.Sleep(150 * time.Millisecond)
		s.gets()
		s.sends(stands(1, "/native", "/second"))
		s.gets(by(1, "cwd:/native"))
	})
}

func TestAHostThatCannotSayWhereItIsIsAnsweredAllTheSame(t *testing.T) { // report C8
	unanswered := func(s *stage, wait time.Duration, stale string) {
		t.Helper()
		s.greet(rooted)
		s.gets(asked(1))
		s.sends(call(1, "a"))
		if wait > 0 {
			time.Sleep(wait - time.Millisecond)
			s.gets()
			time.Sleep(time.Millisecond)
		} else {
			s.sends(`{"jsonrpc":"2.0","id":"mcpx-e-1","error":{"code":-32601,"message":"Method not found"}}`)
		}
		s.gets(by(1, "cwd:/desk"))
		if got := s.conn.Snapshot().Stale; got != stale {
			t.Errorf("marked: got %q, want %q", got, stale)
		}
		s.sends(call(2, "a"))
		s.gets(by(2, "cwd:/desk"))
	}
	t.Run("after an error", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			unanswered(s, 0, `the host answered roots/list with an error: {"code":-32601,"message":"Method not found"}`)
		})
	})
	t.Run("after silence of two seconds, and is asked again after 30", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			unanswered(s, rootsWait, "the host did not answer roots/list: waited 2s")
			time.Sleep(silentHost + time.Second)
			s.sends(call(3, "a"))
			s.gets(asked(2))
			s.sends(stands(2, "/native"))
			s.gets(by(3, "cwd:/native"))
			if got := s.conn.Snapshot().Stale; got != "" {
				t.Errorf("still marked %q", got)
			}
		})
	})
	t.Run("and is never asked when it has no roots", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			s.greet(plain)
			s.sends(call(1, "a"))
			s.gets(by(1, "cwd:/desk"))
			s.world.move(7, "/elsewhere")
			time.Sleep(time.Hour)
			s.sends(call(2, "a"))
			s.gets(by(2, "cwd:/desk"))
		})
	})
	t.Run("and is never asked when a person chose the directory", func(t *testing.T) {
		for _, hello := range []api.Hello{
			{Flags: api.Flags{Cwd: "/chosen"}},
			{Env: map[string]string{"MCPX_CWD": "/chosen"}},
		} {
			play(t, func(s *stage) {
				s.hello.Flags, s.hello.Env = hello.Flags, hello.Env
			}, func(s *stage) {
				s.greet(rooted)
				s.world.move(7, "/elsewhere")
				s.sends(call(1, "a"))
				s.gets(by(1, "cwd:/chosen"))
			})
		}
	})
}

func TestASilentMoveIsNoticed(t *testing.T) { // design D10
	settled := func(s *stage, initialize string) {
		s.greet(initialize)
		s.sends(stands(1, "/main"), call(1, "a"))
		s.gets(asked(1), by(1, "cwd:/main"))
	}
	t.Run("by an ancestor of the shim that stands elsewhere", func(t *testing.T) {
		play(t, func(s *stage) {
			s.chain = append(s.chain, proc.Info{ID: proc.ID{PID: 8}})
			s.world.stands[8] = "/"
		}, func(s *stage) {
			settled(s, telling)
			s.world.move(8, "/tree")
			s.sends(call(2, "a"))
			s.gets(asked(2))
			s.sends(stands(2, "/tree"))
			s.gets(by(2, "cwd:/tree"))
			s.sends(call(3, "a"))
			s.gets(by(3, "cwd:/tree"))
		})
	})
	t.Run("by an ancestor that cannot be read", func(t *testing.T) {
		play(t, func(s *stage) { s.chain = append(s.chain, proc.Info{ID: proc.ID{PID: 9}}) }, func(s *stage) {
			s.greet(telling)
			s.sends(stands(1, "/main"))
			s.gets(asked(1))
			for n, dir := range []string{"/main", "/tree"} {
				s.sends(call(n, "a"))
				s.gets(asked(n + 2))
				s.sends(stands(n+2, dir))
				s.gets(by(n, "cwd:"+dir))
			}
		})
	})
	t.Run("by a look once a second, unless the host promised to tell", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			settled(s, rooted)
			time.Sleep(lookAgain)
			s.sends(call(2, "a"))
			s.gets(by(2, "cwd:/main"))
			time.Sleep(time.Millisecond)
			s.sends(call(3, "a"))
			s.gets(asked(2))
			s.sends(stands(2, "/tree"))
			s.gets(by(3, "cwd:/tree"))
		})
		play(t, nil, func(s *stage) {
			settled(s, telling)
			time.Sleep(time.Hour)
			s.sends(call(2, "a"))
			s.gets(by(2, "cwd:/main"))
		})
	})
	t.Run("by what the host says", func(t *testing.T) {
		play(t, nil, func(s *stage) {
			settled(s, telling)
			s.sends(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			s.gets(asked(2))
			s.sends(stands(2, "/tree"), call(2, "a"))
			s.gets(by(2, "cwd:/tree"))
		})
	})
}

func TestAMoveWithoutAnAnswerFailsTheCall(t *testing.T) { // design D10
	const silent = "the host moved to another directory and does not say which: the host did not answer roots/list: waited 2s"
	moves := map[string]func(s *stage){
		"when an ancestor moved":    func(s *stage) { s.world.move(7, "/tree") },
		"when the host said it did": func(s *stage) { s.sends(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) },
	}
	for name, move := range moves {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *stage) {
				s.greet(telling)
				s.sends(stands(1, "/main"), call(1, "a"))
				s.gets(asked(1), by(1, "cwd:/main"))
				move(s)
				time.Sleep(rootsWait) // what was asked at once stays unanswered
				s.got()
				s.sends(call(2, "a"))
				time.Sleep(rootsWait)
				got := s.got()
				if len(got) != 2 {
					t.Fatalf("the host got %q", got)
				}
				if diff := cmp.Diff(problem{2, wire.CodeInternal, silent}, problemOf(t, got[1])); diff != "" {
					t.Errorf("the error (-want +got):\n%s", diff)
				}
				n := int(s.conn.asked.Load()) + 1
				s.sends(call(3, "a"))
				s.gets(asked(n))
				s.sends(stands(n, "/tree"))
				s.gets(by(3, "cwd:/tree"))
			})
		})
	}
}

func TestACancelledCallDoesNotHideTheMoveItWouldHaveSeen(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(telling)
		s.sends(stands(1, "/main"), call(1, "hold"))
		s.gets(asked(1))
		s.sends(call(2, "a"))
		s.gets(by(2, "cwd:/main"))
		s.conn.look.dirty.Store(true) // said, and not yet asked about
		s.sends(call(3, "a"), cancel(3))
		s.gets(asked(2))
		s.sends(call(4, "a"))
		s.gets(asked(3))
		s.sends(stands(3, "/tree"))
		s.gets(by(4, "cwd:/tree"))
		s.servers.of("cwd:/main").let()
		s.gets(by(1, "cwd:/main"))
	})
}

func TestACheckoutNamedInMetaMovesTheCall(t *testing.T) { // design D10, Codex
	in := func(id int, dir string) string {
		return `{"jsonrpc":"2.0","id":` + string(rune('0'+id)) + `,"method":"tools/call","params":{"name":"a","_meta":{"x-codex-turn-metadata":{"workspaces":{"` + dir + `":{}}}}}}`
	}
	play(t, nil, func(s *stage) {
		s.greet(plain)
		s.sends(in(1, "/one"), in(2, "/two"), call(3, "a"), in(4, "/one"))
		s.gets(by(1, "cwd:/one"), by(2, "cwd:/two"), by(3, "cwd:/two"), by(4, "cwd:/one"))
	})
}

func TestACheckoutMadeUnderASessionIsSeenWithinASecond(t *testing.T) {
	play(t, func(s *stage) { s.world.configure("", view(server(scope.Worktree))) }, func(s *stage) {
		s.greet(plain)
		s.sends(call(1, "a"))
		s.gets(by(1, "cwd:/desk"))
		s.world.mu.Lock()
		s.world.git["/desk"] = scope.Git{CommonDir: "/desk/.git", Worktree: "/desk", MainWorktree: "/desk"}
		s.world.mu.Unlock()
		time.Sleep(lookAgain + time.Millisecond)
		s.sends(call(2, "a"))
		s.gets(by(2, "worktree:/desk"))
	})
}

func TestTheServerOfASessionHearsOfItsNewRoots(t *testing.T) { // design D5
	play(t, func(s *stage) {
		s.world.configure("", view(server(scope.Session)))
		s.hello.Flags.Session = "s1"
	}, func(s *stage) {
		s.greet(telling)
		s.sends(stands(1, "/main"), call(1, "a"))
		s.gets(asked(1), by(1, "session:s1"))
		s.sends(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, stands(2, "/tree"))
		s.gets(asked(2))
		if diff := cmp.Diff([]string{"session:s1"}, s.servers.changed); diff != "" {
			t.Errorf("told to ask again (-want +got):\n%s", diff)
		}
		if got := s.conn.SoftRoots(); len(got) != 1 || got[0].Path != "/tree" {
			t.Errorf("soft roots: got %v", got)
		}
	})
}

func TestCertain(t *testing.T) {
	tests := []struct {
		name string
		at   stand
		want bool
	}{
		{"a flag", stand{dir: "/home/u", origin: roots.Flag}, true},
		{"a variable", stand{dir: "/", origin: roots.Var}, true},
		{"what a person set", stand{dir: "/a", origin: roots.Set}, true},
		{"a variable of the host's", stand{dir: "/home/u", origin: roots.Host}, true},
		{"a working directory", stand{dir: "/a", origin: roots.Cwd}, true},
		{"not home", stand{dir: "/home/u", origin: roots.Cwd}, false},
		{"not /", stand{dir: "/", origin: roots.Cwd}, false},
		{"not nowhere", stand{}, false},
		{"not what the host may change before its first call", stand{dir: "/a", origin: roots.Native}, false},
	}
	for i := range tests { // a stand holds a lock
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.at.certain("/home/u"); got != tt.want {
				t.Errorf("certain: got %v, want %v", got, tt.want)
			}
		})
	}
}
