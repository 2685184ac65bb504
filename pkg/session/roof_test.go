package session

import (
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
)

// roofed is a connection to all servers of the view, of which there is srv.
func roofed(s *stage) { s.hello.Server = "" }

func TestARoofGivesListsAndSendsCallsOn(t *testing.T) {
	play(t, roofed, func(s *stage) {
		s.greet(plain)
		s.sends(list(1, "tools"))
		got := s.got()
		if len(got) != 1 || !strings.Contains(got[0], `{"name":"srv__a","n":1.0},{"name":"srv__b"}`) {
			t.Fatalf("the list: %q", got)
		}
		s.sends(call(2, "srv__a"))
		s.gets(by(2, "cwd:/desk"))
		if got := s.servers.of("cwd:/desk").methods(); !strings.HasSuffix(got, "tools/call:a") {
			t.Errorf("the server got %s", got)
		}
		s.sends(call(3, "a"))
		s.refuses(3, wire.CodeInvalidParams, `unknown tool "a"`)
	})
}

// TestARoofLetsARequestBeCancelledBeforeItsServerIsKnown: it never reaches one.
func TestARoofLetsARequestBeCancelledBeforeItsServerIsKnown(t *testing.T) {
	play(t, func(s *stage) { roofed(s); s.servers.keep(map[string]string{"tools/list": tools}) }, func(s *stage) {
		s.sends(plain)
		s.got()
		s.sends(call(1, "srv__a"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, initialized)
		s.gets()
		if got := s.servers.started(); got != "" {
			t.Errorf("started %q for a call that was cancelled", got)
		}
		s.sends(call(2, "srv__b"))
		s.gets(by(2, "cwd:/desk"))
	})
}

func TestARoofTellsOfServersThatComeAndGo(t *testing.T) {
	play(t, func(s *stage) { roofed(s); s.servers.keep(map[string]string{"tools/list": tools}) }, func(s *stage) {
		s.greet(plain)
		s.sends(list(1, "tools"))
		s.got()
		s.conn.Refresh()
		s.gets() // nothing is different
		s.world.configure("", view())
		s.conn.Refresh()
		s.gets(changed("tools"))
		s.sends(list(2, "tools"))
		s.gets(result(2, `{"tools":[],"_meta":{"dev.mcpx/servers":[]}}`))
		s.world.configure("", view(server(scope.Cwd)))
		s.conn.Refresh()
		s.gets(changed("tools"))
	})
}
