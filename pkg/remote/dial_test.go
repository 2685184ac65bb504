package remote

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// methods are what a server was sent, in order.
func (s *web) methods() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.got {
		if r.Verb == "POST" {
			all = append(all, r.Method)
		}
	}
	return all
}

func TestEraIsFoundAndRemembered(t *testing.T) { // protocol §1.6, report G5
	for _, tt := range []struct {
		era           upstream.Era
		first, second []string
	}{
		{upstream.Modern, []string{"server/discover"}, []string{"server/discover"}},
		{upstream.Legacy, []string{"server/discover", "initialize", "notifications/initialized"}, []string{"initialize", "notifications/initialized"}},
	} {
		t.Run(string(tt.era), func(t *testing.T) {
			s, eras := newWeb(t, tt.era), verdicts{}
			dial(t, s.plan(), Options{Eras: eras})
			if diff := cmp.Diff(tt.first, s.methods()); diff != "" {
				t.Errorf("first (-want +got):\n%s", diff)
			}
			k := dial(t, s.plan(), Options{Eras: eras})
			if diff := cmp.Diff(tt.second, s.methods()[len(tt.first):]); diff != "" {
				t.Errorf("second (-want +got):\n%s", diff)
			}
			if hs := k.Handshake(); hs.Era != tt.era || !strings.Contains(string(hs.Initialize), `"capabilities":{"tools":{}}`) {
				t.Errorf("handshake: %+v", hs)
			}
		})
	}
}

func TestARememberedEraThatIsContradictedIsFoundAgain(t *testing.T) {
	s, eras := newWeb(t, upstream.Modern), verdicts{}
	p := s.plan()
	dial(t, p, Options{Eras: eras})
	s.becomes(upstream.Legacy) // downgraded
	if k := dial(t, p, Options{Eras: eras}); k.Handshake().Era != upstream.Legacy || eras[p.Identity()].Era != upstream.Legacy {
		t.Error("a downgraded server was not found to be one")
	}
	s.becomes(upstream.Modern) // upgraded, and initialize is unknown to it
	if k := dial(t, p, Options{Eras: eras}); k.Handshake().Era != upstream.Modern || eras[p.Identity()].Era != upstream.Modern {
		t.Error("an upgraded server was not found to be one")
	}
	old := upstream.Verdict{Era: upstream.Legacy, Checked: time.Now().Add(-8 * 24 * time.Hour)}
	eras[p.Identity()] = old
	if k := dial(t, p, Options{Eras: eras}); k.Handshake().Era != upstream.Modern {
		t.Error("an old verdict was not asked again")
	}
}

func TestFailuresThatSayNothingOfErasLeaveThemAlone(t *testing.T) {
	for _, status := range []int{401, 403, 429, 500, 503} {
		s := newWeb(t, upstream.Legacy)
		known := upstream.Verdict{Era: upstream.Legacy, Checked: time.Now()}
		eras := verdicts{s.plan().Identity(): known}
		s.set(func(w http.ResponseWriter, _ *request) bool { w.WriteHeader(status); return true })
		if _, err := Dial(t.Context(), s.plan(), Options{Eras: eras}); err == nil {
			t.Errorf("%d: opened", status)
		}
		if got := eras[s.plan().Identity()]; got != known || len(s.methods()) != 1 {
			t.Errorf("%d: %v is remembered after %q", status, got, s.methods())
		}
	}
}

func TestASilentProbeIsFollowedByInitialize(t *testing.T) {
	s, eras := newWeb(t, upstream.Legacy), verdicts{}
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	s.set(only("server/discover", func(http.ResponseWriter, *request) { <-gone }))
	k := dial(t, s.plan(), Options{Eras: eras, ProbeTimeout: 20 * time.Millisecond})
	if k.Handshake().Era != upstream.Legacy || len(eras) != 0 {
		t.Errorf("era %s, remembered %v, want legacy for now", k.Handshake().Era, eras)
	}
}

func TestWorkspaceIsTold(t *testing.T) { // record 0004 §5
	for _, era := range []upstream.Era{upstream.Legacy, upstream.Modern} {
		s := newWeb(t, era)
		p := s.plan()
		p.Workspace = spawn.Workspace{Root: "/src/my repo", Roots: true}
		dial(t, p, Options{Version: "9"})
		opening := s.asked(map[upstream.Era]string{upstream.Legacy: "initialize", upstream.Modern: "server/discover"}[era])[0]
		if string(opening.Params["rootUri"]) != `"file:///src/my%20repo"` || !strings.Contains(string(opening.Params["workspaceFolders"]), `"my repo"`) {
			t.Errorf("%s: told %s", era, opening.Body)
		}
		if opening.Get("User-Agent") != "mcpx/9" || opening.Get("Accept") != "application/json, text/event-stream" || opening.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", era, opening.Header)
		}

		s = newWeb(t, era)
		dial(t, s.plan(), Options{})
		if opening := s.asked(opening.Method)[0]; strings.Contains(opening.Body, "rootUri") || strings.Contains(opening.Body, "orkspace") {
			t.Errorf("%s: told a root that is none: %s", era, opening.Body)
		}
	}
}

func TestStrictServersAreGreetedPlainly(t *testing.T) { // report C13
	for _, era := range []upstream.Era{upstream.Legacy, upstream.Modern} {
		s, eras := newWeb(t, era), verdicts{}
		s.set(func(w http.ResponseWriter, r *request) bool {
			if strings.Contains(r.Body, "rootUri") {
				w.WriteHeader(http.StatusBadRequest)
			}
			return strings.Contains(r.Body, "rootUri")
		})
		p := s.plan()
		p.Workspace = spawn.Workspace{Root: "/src/app", Roots: true}
		if era == upstream.Modern {
			p.Protocol = config.Modern
		}
		k := dial(t, p, Options{Eras: eras})
		if k.Handshake().Era != era || !eras[p.Identity()].Plain {
			t.Errorf("%s: got %s, remembered %+v", era, k.Handshake().Era, eras)
		}
		before := len(s.methods())
		dial(t, p, Options{Eras: eras})
		for _, m := range s.asked("POST")[before:] {
			if strings.Contains(m.Body, "rootUri") {
				t.Errorf("%s: asked again as before: %s", era, m.Body)
			}
		}
	}
}

func TestRootsAndPingAreAnswered(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	asked := make(chan struct{})
	s.set(only("GET", func(w http.ResponseWriter, r *request) {
		stream(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n\n")
		<-asked
	}))
	t.Cleanup(func() { close(asked) })
	k := dial(t, s.plan(), Options{Roots: func() []roots.Root { return []roots.Root{{URI: "file:///a", Name: "a"}} }})
	answers := map[string]bool{}
	eventually(t, "both answers", func() bool {
		for _, r := range s.asked("POST") {
			if r.Method == "" {
				answers[r.Body] = true
			}
		}
		return len(answers) == 2
	})
	for _, want := range []string{`{"jsonrpc":"2.0","id":"p","result":{}}`, `{"jsonrpc":"2.0","id":"r","error":{"code":-32601,"message":"method not found: roots/list"}}`} {
		if !answers[want] {
			t.Errorf("got %v, want %s", answers, want)
		}
	}
	_ = k
}

func TestWhyAServerIsNotOpened(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *request) bool {
		return func(w http.ResponseWriter, _ *request) bool { w.WriteHeader(code); return true }
	}
	body := func(kind, text string) func(http.ResponseWriter, *request) bool {
		return func(w http.ResponseWriter, _ *request) bool {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(text))
			return true
		}
	}
	tests := []struct {
		name       string
		on         func(http.ResponseWriter, *request) bool
		protocol   config.Protocol
		want, hint string
	}{
		{"404", status(404), "", `server "srv": ORIGIN answered 404 Not Found`, "is the path of its url right?"},
		{"500", status(500), "", `server "srv": ORIGIN answered 500 Internal Server Error`, ""},
		{"403", status(403), "", `server "srv": ORIGIN answered 403 Forbidden`, "whoever signed in, or the credentials of the config, may not do this"},
		{"an unknown status", status(599), "", `server "srv": ORIGIN answered 599`, ""},
		{"a page", body("text/html", "<html>secret</html>"), "", `server "srv": ORIGIN answered initialize with something else (text/html)`, ""},
		{"a later modern revision", func(w http.ResponseWriter, r *request) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01","2027-07-28"]}}}`))
			return true
		}, "", `server "srv": server/discover: speaks only 2027-01-01, 2027-07-28`, "mcpx speaks 2024-11-05 to 2026-07-28"},
		{"a revision of the future", func(w http.ResponseWriter, r *request) bool {
			if r.Method == "initialize" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":{"protocolVersion":"2031-01-01"}}`))
			}
			return r.Method == "initialize"
		}, config.Legacy, `server "srv": answered initialize with the unknown protocol version "2031-01-01"`, "mcpx speaks 2024-11-05 to 2026-07-28"},
		{"a refusal in its own words", func(w http.ResponseWriter, r *request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32000,"message":"out of order"}}`))
			return true
		}, config.Modern, `server "srv": server/discover: refused with error -32000: out of order`, ""},
		{"the transport of 2024", func(w http.ResponseWriter, r *request) bool {
			if r.Verb == "GET" {
				stream(w, "event: endpoint\ndata: /messages?session=1\n\n")
			} else {
				w.WriteHeader(405)
			}
			return true
		}, "", `server "srv": ORIGIN speaks the HTTP+SSE transport of 2024-11-05, which mcpx does not`, "ask for its Streamable HTTP address, often /mcp in place of /sse"},
		{"a redirect", func(w http.ResponseWriter, _ *request) bool {
			w.Header().Set("Location", "https://elsewhere.test/mcp?token=secret")
			w.WriteHeader(308)
			return true
		}, "", `server "srv": ORIGIN answered 308 Permanent Redirect to https://elsewhere.test, and redirects are not followed`, `write the address that it has now as "url"`},
		{"busy", func(w http.ResponseWriter, _ *request) bool {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
			return true
		}, "", `server "srv": ORIGIN answered 429 Too Many Requests; it asks to wait for 7s`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newWeb(t, upstream.Legacy)
			s.set(tt.on)
			p := s.plan()
			p.Protocol = tt.protocol
			_, err := Dial(t.Context(), p, Options{})
			f, ok := errors.AsType[*upstream.Failure](err)
			if !ok {
				t.Fatalf("Dial: %v", err)
			}
			got := []string{strings.ReplaceAll(f.Error(), s.URL, "ORIGIN"), f.Hint()}
			if diff := cmp.Diff([]string{tt.want, tt.hint}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	p := s.plan()
	s.Close()
	_, err := Dial(t.Context(), p, Options{})
	if err == nil || !strings.Contains(err.Error(), "could not be reached: connect: connection refused") || config.HintOf(err) == "" {
		t.Errorf("a closed port: %v", err)
	}
	p.URL = "https" + strings.TrimPrefix(newWeb(t, upstream.Legacy).URL, "http")
	if _, err := Dial(t.Context(), p, Options{}); err == nil {
		t.Error("TLS with a server that has none: opened")
	}
	p.URL = "ftp://x"
	if _, err := Dial(t.Context(), p, Options{}); err == nil || !strings.Contains(err.Error(), "not an http or https address") {
		t.Errorf("ftp: %v", err)
	}
}

func TestAStartIsBounded(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	s.set(func(http.ResponseWriter, *request) bool { <-gone; return true })
	_, err := Dial(t.Context(), s.plan(), Options{StartTimeout: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "initialize timed out after 50ms") || config.HintOf(err) != `raise "startTimeout" if it is only slow` {
		t.Errorf("got %v", err)
	}
}
