package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// Values that nobody but the configured origin may see.
const (
	canaryHeader = "canary-of-a-header"
	canarySecret = "canary-of-a-secret"
	canaryQuery  = "canary-of-a-query"
	canaryUser   = "canary-of-a-user"
	canaryToken  = "canary-of-a-token"
)

// signedIn is a Tokens that a test leads.
type signedIn struct {
	mu      sync.Mutex
	token   string
	refused []string
	fresh   func(refused string) (string, error)
}

func (s *signedIn) Token(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, nil
}

func (s *signedIn) Refused(_ context.Context, token string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, token)
	if s.fresh == nil {
		return "", nil
	}
	fresh, err := s.fresh(token)
	s.token = fresh
	return fresh, err
}

func (s *signedIn) Missing(scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, scope)
}

// TestCredentialsStayAtTheirOrigin: nothing of them follows a redirect, and a
// redirect of a POST is not followed at all (threat T29).
func TestCredentialsStayAtTheirOrigin(t *testing.T) {
	var mu sync.Mutex
	var elsewhere []*http.Request
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = append(elsewhere, r)
	}))
	t.Cleanup(other.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	for where, to := range map[string]string{
		"another port":         other.URL + "/mcp",
		"another host":         "http://localhost:" + port + "/mcp",
		"a subdomain":          "http://sub.127.0.0.1.nip.test/mcp",
		"another scheme":       "https://127.0.0.1:" + port + "/mcp",
		"with userinfo":        "http://" + canaryUser + "@127.0.0.1:" + port,
		"the same origin":      "/elsewhere",
		"back and forth":       "/mcp",
		"no address":           "",
		"what is no address":   "http://[::1",
		"an address with CRLF": "/a%0d%0ab",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			s := newWeb(t, upstream.Legacy)
			p := s.plan()
			p.URL = strings.Replace(p.URL, "http://", "http://"+canaryUser+":x@", 1)
			p.Headers = map[string]string{"X-Api-Key": canaryHeader}
			k := dial(t, p, Options{Tokens: &signedIn{token: canaryToken}})
			s.set(func(w http.ResponseWriter, r *request) bool {
				if r.Verb == "DELETE" {
					return false
				}
				w.Header().Set("Location", to)
				w.WriteHeader(status)
				return true
			})
			if msg := k.fails("tools/call", `{"name":"echo"}`); strings.Contains(msg, "canary") || !strings.Contains(msg, fmt.Sprint(status)) {
				t.Errorf("%s, %d: %s", where, status, msg)
			}
			if n := len(s.asked("tools/call")); n != 1 {
				t.Errorf("%s, %d: the POST was sent %d times", where, status, n)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(elsewhere) > 0 {
		t.Errorf("another origin was asked: %v", elsewhere[0])
	}
}

// TestAGetIsLedWithinItsOrigin: three times, with credentials, and no further.
func TestAGetIsLedWithinItsOrigin(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	steps := 3
	s.set(func(w http.ResponseWriter, r *request) bool {
		if r.Verb != "GET" {
			return false
		}
		var at int
		_, _ = fmt.Sscanf(r.URL, "/stream/%d", &at)
		switch {
		case r.Header.Get("X-Api-Key") != canaryHeader:
			w.WriteHeader(http.StatusForbidden)
		case at == steps:
			stream(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/here\"}\n\n")
		default:
			w.Header().Set("Location", fmt.Sprintf("/stream/%d", at+1))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
		return true
	})
	p := s.plan()
	p.Headers = map[string]string{"x-api-key": canaryHeader}
	k := dial(t, p, Options{})
	if got := k.await(k.notes, "the stream"); !strings.Contains(got, "notifications/here") {
		t.Errorf("got %s", got)
	}
	if err := k.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	steps, s.got = 4, nil
	s.mu.Unlock()
	dial(t, p, Options{})
	eventually(t, "four requests", func() bool { return len(s.asked("GET")) >= 4 })
}

func TestSecretsAreReadAgainWhenRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(value string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Bearer one")
	good := "Bearer one"
	var mu sync.Mutex
	s := newWeb(t, upstream.Modern)
	s.set(func(w http.ResponseWriter, r *request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Get("Authorization") == good {
			return false
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	p := s.plan()
	p.Secrets = map[string]config.Secret{"Authorization": {File: file}}
	k := dial(t, p, Options{Tokens: &signedIn{}})
	k.works("tools/list", "{}")
	mu.Lock()
	good = "Bearer two"
	mu.Unlock()
	write("Bearer two")
	k.works("tools/list", "{}")
	mu.Lock()
	good = "Bearer three"
	mu.Unlock()
	_, ch := k.start("tools/list", "{}")
	<-k.Done()
	f, _ := k.Failure().(*upstream.Failure)
	if f == nil || f.Reason != "credentials refused" || strings.Contains(f.Error(), "two") {
		t.Errorf("got %v", f)
	}
	select {
	case line := <-ch:
		t.Errorf("the call was answered %s; that is for the end to do", line)
	default:
	}
	_, err := Dial(t.Context(), p, Options{})
	if err == nil || !strings.Contains(err.Error(), "refused the configured credentials: 401 Unauthorized") || config.HintOf(err) != `look at "headers" and "secrets" of this server` {
		t.Errorf("a start with refused credentials: %v, %s", err, config.HintOf(err))
	}

	for name, tt := range map[string]struct {
		set  func()
		want string
	}{
		"two lines": {func() { write("a\nb") }, `server "srv": mcpx.secrets.Authorization: holds a line break`},
		"gone":      {func() { _ = os.Remove(file) }, `server "srv": mcpx.secrets.Authorization: file ` + file + `: no such file or directory`},
	} {
		tt.set()
		if _, err := Dial(t.Context(), p, Options{}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

func TestSignIn(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	good := "Bearer " + canaryToken
	var mu sync.Mutex
	s.set(func(w http.ResponseWriter, r *request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Get("Authorization") == good {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x.test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	nobody := &signedIn{}
	_, err := Dial(t.Context(), s.plan(), Options{Tokens: nobody})
	f, ok := errors.AsType[*upstream.Failure](err)
	if !ok || f.Reason != "needs sign-in" || f.Error() != `server "srv": needs sign-in: mcpx auth login srv` || f.Hint() != "mcpx auth login srv" {
		t.Fatalf("nobody signed in: %v", err)
	}
	if len(nobody.refused) != 1 || nobody.refused[0] != "" {
		t.Errorf("was told %q of what was refused", nobody.refused)
	}
	if _, err := Dial(t.Context(), s.plan(), Options{}); err == nil || !strings.Contains(err.Error(), "wants credentials: 401 Unauthorized") {
		t.Errorf("where nobody can sign in: %v", err)
	}

	known := &signedIn{token: "old", fresh: func(refused string) (string, error) {
		if refused != "old" {
			return "", nil
		}
		return canaryToken, nil
	}}
	k := dial(t, s.plan(), Options{Tokens: known})
	k.works("tools/list", "{}")
	if len(known.refused) != 1 {
		t.Errorf("%q were refused", known.refused)
	}
	// Ten calls at once, and the token has expired: one refresh.
	mu.Lock()
	good = "Bearer next"
	mu.Unlock()
	known.mu.Lock()
	known.refused = nil
	known.fresh = func(string) (string, error) { return "next", nil }
	known.mu.Unlock()
	var answers []<-chan string
	for range 10 {
		_, ch := k.start("tools/call", `{"name":"echo"}`)
		answers = append(answers, ch)
	}
	for _, ch := range answers {
		if line := k.await(ch, "a call"); !strings.Contains(line, "done") {
			t.Errorf("got %s", line)
		}
	}
	known.mu.Lock()
	known.fresh = nil
	known.mu.Unlock()
	mu.Lock()
	good = "none"
	mu.Unlock()
	k.start("tools/list", "{}")
	<-k.Done()
	if f, _ := k.Failure().(*upstream.Failure); f == nil || f.Reason != "needs sign-in" {
		t.Errorf("a refused sign-in: %v", k.Failure())
	}
}

// TestNothingSecretIsTold greps all that is told of a server for what it was
// given (threat T28, report M4).
func TestNothingSecretIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(canarySecret), 0o600); err != nil {
		t.Fatal(err)
	}
	var log recorder
	var told []string
	s := newWeb(t, upstream.Legacy)
	p := s.plan()
	p.URL = strings.Replace(p.URL, "http://", "http://"+canaryUser+":"+canaryUser+"@", 1) + "?key=" + canaryQuery
	p.Headers = map[string]string{"X-Api-Key": canaryHeader}
	p.Secrets = map[string]config.Secret{"X-Other": {File: file}}
	all := strings.Join([]string{canaryHeader, canarySecret, canaryQuery, canaryUser}, " ")
	for name, on := range map[string]func(http.ResponseWriter, *request) bool{
		"401": func(w http.ResponseWriter, _ *request) bool { http.Error(w, all, http.StatusUnauthorized); return true },
		"403": func(w http.ResponseWriter, _ *request) bool { http.Error(w, all, http.StatusForbidden); return true },
		"500": func(w http.ResponseWriter, _ *request) bool {
			http.Error(w, all, http.StatusInternalServerError)
			return true
		},
		"a redirect": func(w http.ResponseWriter, _ *request) bool {
			w.Header().Set("Location", "https://x.test/?k="+canaryQuery)
			w.WriteHeader(307)
			return true
		},
		"a refusal that quotes": func(w http.ResponseWriter, r *request) bool {
			s.answer(w, r, 200, `"error":{"code":-1,"message":"bad key `+all+`"}`)
			return true
		},
		"cut": func(w http.ResponseWriter, _ *request) bool {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
			return true
		},
		"noise": func(w http.ResponseWriter, _ *request) bool {
			w.Header().Set("Content-Type", "application/json; x="+canaryHeader)
			_, _ = w.Write([]byte(all))
			return true
		},
	} {
		s.set(on)
		_, err := Dial(t.Context(), p, Options{Log: log.logger()})
		if err == nil {
			t.Fatalf("%s: opened", name)
		}
		told = append(told, err.Error(), config.HintOf(err), fmt.Sprintf("%+v", err))
	}
	s.set(nil)
	k := dial(t, p, Options{Log: log.logger()})
	if got := s.asked("initialize"); got[len(got)-1].URL != "/mcp?key="+canaryQuery || got[len(got)-1].Get("X-Other") != canarySecret || !strings.HasPrefix(got[len(got)-1].Get("Authorization"), "Basic ") {
		t.Errorf("the server itself did not get them: %v", got[len(got)-1])
	}
	s.set(only("tools/call", func(w http.ResponseWriter, _ *request) { http.Error(w, all, http.StatusInternalServerError) }))
	told = append(told, k.fails("tools/call", "{}"), k.Trouble())
	if err := k.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	told = append(told, k.Failure().Error(), log.text())
	if text := strings.Join(told, "\n"); strings.Contains(text, "canary") {
		t.Errorf("a secret was told:\n%s", text)
	}
}

// TestACarrierGivesItsOriginAlone holds the last line of defence: whatever asks
// for an address.
func TestACarrierGivesItsOriginAlone(t *testing.T) {
	cred := credentials{header: http.Header{"X-Api-Key": {canaryHeader}, "Accept": {"text/html"}}, token: canaryToken}
	for address, mine := range map[string]bool{
		"https://mcp.test/mcp": true, "https://mcp.test:443/other": true, "https://MCP.test/": true,
		"http://mcp.test/mcp": false, "https://mcp.test:8443/mcp": false, "https://sub.mcp.test/mcp": false, "https://mcp.test.evil.test/": false, "https://test/": false,
	} {
		var sent http.Header
		c := carrier{origin: "https://mcp.test", base: roundTrip(func(r *http.Request) { sent = r.Header })}
		req := httptest.NewRequest(http.MethodPost, address, nil)
		req.Header.Set("Accept", "application/json")
		_, _ = c.send(req, cred)
		want := http.Header{"Accept": {"application/json"}}
		if mine {
			want["X-Api-Key"], want["Authorization"] = []string{canaryHeader}, []string{"Bearer " + canaryToken}
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
}

type roundTrip func(*http.Request)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("nobody there")
}
