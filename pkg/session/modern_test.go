package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/wire"
)

// said is a request of a modern host's. params are more members, each with a
// comma behind.
func said(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"m","version":"3"}}}}`, id, method, params)
}

func listening(id int, what string) string {
	return said(id, "subscriptions/listen", `"notifications":{`+what+`},`)
}

func TestAModernHostDiscovers(t *testing.T) {
	play(t, func(s *stage) { s.servers.keep(map[string]string{"tools/list": tools}) }, func(s *stage) {
		s.sends(said(1, "server/discover", ""))
		got := s.got()
		if len(got) != 1 {
			t.Fatalf("got %q", got)
		}
		for _, want := range []string{`"supportedVersions":["2026-07-28","2025-11-25"`, `"resultType":"complete"`, `"x":[1.0]`, `"io.modelcontextprotocol/serverInfo":{"name":"own","version":"9"}`, `"listChanged":true`} {
			if !strings.Contains(got[0], want) {
				t.Errorf("discover lacks %s: %s", want, got[0])
			}
		}
		s.sends(said(2, "tools/list", ""))
		s.gets(`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"a","n":1.0},{"name":"b"}]}}`)
		snap := s.conn.Snapshot()
		if diff := cmp.Diff([]string{"m", "3"}, []string{snap.HostName, snap.HostVersion}); diff != "" {
			t.Errorf("the host (-want +got):\n%s", diff)
		}
		if got := s.servers.started(); got != "" {
			t.Errorf("started %q", got)
		}
	})
}

func TestAModernHostSaysWhatItMust(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.sends(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`)
		s.refuses(1, wire.CodeInvalidParams, `_meta lacks "io.modelcontextprotocol/protocolVersion"`)
		s.sends(strings.Replace(said(2, "tools/list", ""), "2026-07-28", "2099-01-01", 1))
		got := s.got()
		if len(got) != 1 || !strings.Contains(got[0], `"code":-32022`) || !strings.Contains(got[0], `"supported":["2026-07-28",`) {
			t.Errorf("a revision of the future: %q", got)
		}
		for i, method := range []string{"ping", "logging/setLevel", "resources/subscribe", "initialize"} {
			s.sends(said(10+i, method, ""))
			got := s.got()
			if len(got) != 1 || !strings.Contains(got[0], `"code":-32601`) {
				t.Errorf("%s: %q", method, got)
			}
		}
	})
}

// TestAModernHostIsNotHeldUp: it has no initialized to send, and is asked for no
// roots.
func TestAModernHostIsNotHeldUp(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.sends(strings.Replace(said(1, "tools/call", `"name":"a",`), `clientCapabilities":{}`, `clientCapabilities":{"roots":{}}`, 1))
		s.gets(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"own","version":"9"}},"by":"cwd:/desk"}}`)
	})
}

func TestAModernHostListens(t *testing.T) {
	const stamp = `"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}`
	play(t, func(s *stage) { s.servers.keep(map[string]string{"tools/list": tools}) }, func(s *stage) {
		s.sends(said(1, "tools/list", ""), listening(7, `"toolsListChanged":true`), listening(8, `"promptsListChanged":true`))
		got := s.got()
		if len(got) != 3 || !strings.Contains(got[1], `"notifications/subscriptions/acknowledged"`) || !strings.Contains(got[1], `"io.modelcontextprotocol/subscriptionId":7`) {
			t.Fatalf("got %q", got)
		}
		def := s.world.View("").Servers["srv"].Definition()
		s.conn.ListsChanged(def, []string{"tools"})
		s.gets(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed",` + stamp + `}`)
		s.sends(listening(7, `"toolsListChanged":true`))
		s.refuses(7, wire.CodeInvalid, errTwice.Error())
		s.sends(said(2, "tools/list", ""), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		s.got()
		s.conn.ListsChanged(def, []string{"tools"})
		s.gets()
		s.sends(listening(9, `"toolsListChanged":3`))
		s.refuses(9, wire.CodeInvalidParams, "notifications.toolsListChanged is not a boolean")
	})
}

// TestTheNextDaemonListensOn: what a modern host listens to is in the state, and
// the host is told to look again.
func TestTheNextDaemonListensOn(t *testing.T) {
	var kept []byte
	play(t, func(s *stage) {
		s.keep = func(state []byte) error { kept = append([]byte(nil), state...); return nil }
	}, func(s *stage) {
		s.sends(said(1, "tools/call", `"name":"a",`), listening(7, `"toolsListChanged":true`))
		s.got()
	})
	play(t, func(s *stage) { s.resume = kept }, func(s *stage) {
		got := s.got()
		if len(got) != 2 || !strings.Contains(got[0], "acknowledged") || !strings.Contains(got[1], "notifications/tools/list_changed") {
			t.Errorf("the host got %q", got)
		}
		s.world.configure("", view(&config.Resolved{Name: "srv", Scope: scope.Cwd, Disabled: true}))
	})
}
