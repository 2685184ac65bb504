package session

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/wire"
)

// A worktree that is removed under its host is not replaced by where the host
// was started: that would be another checkout's answer.
func TestARemovedDirectoryIsNotReplacedByAnother(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.greet(telling)
		s.gets(asked(1))
		s.sends(stands(1, "/tree"), call(1, "a"))
		s.gets(by(1, "cwd:/tree"))
		s.world.remove("/tree")
		time.Sleep(lookAgain + time.Millisecond) // the host was told nothing and says nothing
		s.sends(call(2, "a"))
		s.refuses(2, wire.CodeInternal, `server "srv": the session's directory "/tree" (from roots) is not there: no such directory`)
		s.sends(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		s.gets(asked(2))
		s.sends(stands(2, "/desk"), call(3, "a"))
		s.gets(by(3, "cwd:/desk"))
	})
}

func TestADirectoryThatWasNeverThereIsNamed(t *testing.T) {
	tests := []struct {
		name  string
		hello api.Hello
		want  string
		hint  string
	}{
		{"by --cwd", api.Hello{Server: "srv", Cwd: "/desk", Flags: api.Flags{Cwd: "${workspaceFolder}"}},
			`server "srv": the session's directory "${workspaceFolder}" (from flag) is not there: no such directory`, "mend --cwd"},
		{"by MCPX_CWD", api.Hello{Server: "srv", Cwd: "/desk", Env: map[string]string{"MCPX_CWD": "/gone"}},
			`server "srv": the session's directory "/gone" (from var) is not there: no such directory`, "mend MCPX_CWD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, func(s *stage) {
				s.hello = tt.hello
				s.world.remove("/gone")
				s.world.remove("${workspaceFolder}")
			}, func(s *stage) {
				s.greet(plain)
				s.sends(call(1, "a"))
				got := s.got()
				if len(got) != 1 || !strings.Contains(got[0], tt.hint) {
					t.Fatalf("the host got %q, want the hint %q", got, tt.hint)
				}
				if diff := cmp.Diff(problem{1, wire.CodeInternal, tt.want}, problemOf(t, got[0])); diff != "" {
					t.Errorf("the error (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A host that writes its whole handshake and a call at once is answered in that
// order, also when the handshake has to wait for a server and the list is kept.
func TestTheHandshakeIsAnsweredFirst(t *testing.T) {
	play(t, func(s *stage) { s.servers.slow = time.Second }, func(s *stage) {
		s.sends(plain, initialized, call(1, "a"), list(2, "tools"))
		time.Sleep(2 * time.Second)
		got := s.got()
		if len(got) != 3 || !strings.Contains(got[0], `"id":0`) || !strings.Contains(got[1], `"id":1`) || !strings.Contains(got[2], `"id":2`) {
			t.Errorf("the host got %q, want the answers in the order of the requests", got)
		}
	})
}

func TestASecondHandshakeWaitsForTheFirst(t *testing.T) {
	play(t, func(s *stage) { s.servers.slow = time.Second }, func(s *stage) {
		again := strings.Replace(plain, `"id":0`, `"id":9`, 1)
		go func() { _, _ = io.WriteString(s.in, plain+"\n"+again+"\n") }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := s.got(); len(got) != 2 || !strings.Contains(got[0], `"id":0`) || !strings.Contains(got[1], `"id":9`) {
			t.Errorf("the host got %q, want both answers in order", got)
		}
	})
}
