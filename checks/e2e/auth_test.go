package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// guarded is a remote that wants a sign-in, and the issuer of it, on one address.
type guarded struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex // guards what follows
	given     int        // tokens so far; the last one is good,
	refused   int        // unless it is this one
	challenge string
	asked     map[string]int // by path
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{t: t, asked: map[string]int{}}
	web := newRemotes(t)
	inner := web.Config.Handler
	m := http.NewServeMux()
	m.HandleFunc("/modern", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+g.token() {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/modern"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	say := func(path string, document func() any) {
		m.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(document())
		})
	}
	say("/.well-known/oauth-protected-resource/modern", func() any {
		return map[string]any{"resource": g.URL + "/modern", "authorization_servers": []string{g.URL}, "scopes_supported": []string{"use"}}
	})
	say("/.well-known/oauth-authorization-server", func() any {
		return map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"registration_endpoint": g.URL + "/register", "revocation_endpoint": g.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		}
	})
	say("/register", func() any { return map[string]string{"client_id": "mcpx-1"} })
	m.HandleFunc("/revoke", func(http.ResponseWriter, *http.Request) {})
	m.HandleFunc("/authorize", g.authorize)
	m.HandleFunc("/token", g.exchange)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.asked[r.URL.Path]++
		g.mu.Unlock()
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

func (g *guarded) token() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.given == g.refused {
		return "none is good"
	}
	return fmt.Sprintf("canary-token-%d", g.given)
}

func (g *guarded) times(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[path]
}

func (g *guarded) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	g.mu.Lock()
	g.challenge = q.Get("code_challenge")
	g.mu.Unlock()
	back := url.Values{"code": {"canary-code"}, "state": {q.Get("state")}, "iss": {g.URL}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (g *guarded) exchange(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	good := r.PostForm.Get("resource") == g.URL+"/modern"
	if r.PostForm.Get("grant_type") == "refresh_token" {
		good = good && r.PostForm.Get("refresh_token") == fmt.Sprintf("canary-refresh-%d", g.given)
	} else {
		good = good && r.PostForm.Get("code") == "canary-code" && base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge
	}
	if !good {
		g.t.Errorf("a bad request for a token: %v", r.PostForm)
	}
	g.given++
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token":"canary-token-%d","refresh_token":"canary-refresh-%d","token_type":"bearer","expires_in":3600}`, g.given, g.given)
}

// refuse makes the token that was given last one that is refused.
func (g *guarded) refuse() (number int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = g.given
	g.asked["/token"] = 0
	return g.given
}

// login runs `mcpx auth login`; browse is sent where it says. It returns all that
// was printed.
func login(t *testing.T, r *rig.Rig, server string, browse func(address string)) string {
	t.Helper()
	cmd := r.Command("auth", "login", server)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err == nil {
		browse(strings.TrimSpace(address))
	}
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("mcpx auth login: %v\n%s", err, stderr.String())
	}
	return address + string(rest) + stderr.String()
}

func TestAuth(t *testing.T) { // report N1, threats T28 to T30
	g := newGuarded(t)
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"web": {"url": "%s/modern"}, "local": {"command": %q}}}`, g.URL, fakemcp))
	var hosts []*rig.Host
	for range 5 {
		h := open(r, r.Home, "web")
		hosts = append(hosts, h)
		m := h.Ask("tools/list", map[string]any{})
		if m.Error == nil || !strings.HasPrefix(m.Error.Message, `server "web": needs sign-in: mcpx auth login web`) || !strings.Contains(string(m.Error.Data), `"hint":"mcpx auth login web"`) {
			t.Fatalf("before the sign-in: %s", m.Line)
		}
	}
	if in := r.Instances("web"); len(in) != 1 || !strings.Contains(in[0].LastError, "needs sign-in: mcpx auth login web") {
		t.Errorf("status: %+v", in)
	}
	doctor, _ := r.Command("doctor").CombinedOutput()
	if !strings.Contains(string(doctor), "fix: mcpx auth login web") {
		t.Errorf("doctor: %s", doctor)
	}
	if g.times("/register") != 0 {
		t.Error("a flow began that nobody asked for")
	}

	printed := login(t, r, "web", func(address string) {
		if !strings.HasPrefix(address, g.URL+"/authorize?") {
			t.Fatalf("the browser is sent to %s", address)
		}
		again := login2(t, r) // a second one joins the first
		if again != address {
			t.Errorf("a second login goes to %s", again)
		}
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		page, _ := io.ReadAll(resp.Body)
		if !strings.Contains(string(page), "signed in at the server web") {
			t.Errorf("the page says %s", page)
		}
	})
	if !strings.Contains(printed, "sign in to web ("+g.URL+") at "+g.URL) || !strings.Contains(printed, "signed in to web") {
		t.Errorf("printed %s", printed)
	}
	if n := g.times("/register"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
	for i, h := range hosts {
		if m := h.Note("that there are tools now"); m.Method != "notifications/tools/list_changed" {
			t.Errorf("host %d heard %s", i, m.Line)
		}
		if got := h.Call("header", map[string]string{"name": "Authorization"}); got != "Bearer canary-token-1" {
			t.Errorf("host %d: the server got %q", i, got)
		}
	}
	if in := r.Listed("web"); in.Tools != 3 || in.LastError != "" {
		t.Errorf("status: %+v", in)
	}

	// A token that is refused is replaced, once, and the call that found out is
	// answered.
	old := g.refuse()
	for _, h := range hosts {
		if got := h.Call("header", map[string]string{"name": "Authorization"}); got != fmt.Sprintf("Bearer canary-token-%d", old+1) {
			t.Errorf("the server got %q", got)
		}
	}
	if n := g.times("/token"); n != 1 {
		t.Errorf("%d requests for tokens, want 1", n)
	}

	shown := map[string]string{"daemon.log": r.Log(), "login": printed, "doctor": string(doctor)}
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"auth", "status"}, {"auth", "status", "--json"}, {"config"}, {"explain", "web"}, {"doctor"}} {
		out, _ := r.Command(args...).CombinedOutput()
		shown["mcpx "+strings.Join(args, " ")] = string(out)
	}
	for what, text := range shown {
		if text == "" || strings.Contains(text, "canary") {
			t.Errorf("%s shows: %s", what, text)
		}
	}
	var all []api.AuthStatus
	if err := json.Unmarshal([]byte(shown["mcpx auth status --json"]), &all); err != nil || len(all) != 1 || all[0].State != "signed-in" || all[0].Issuer != g.URL || !all[0].Renews {
		t.Errorf("auth status --json: %s", shown["mcpx auth status --json"])
	}

	// The daemon that comes next has it too, and a logout takes it from all.
	r.Mcpx("stop")
	if got := hosts[0].Call("header", map[string]string{"name": "Authorization"}); !strings.HasPrefix(got, "Bearer canary-token-") {
		t.Errorf("after a restart of the daemon the server got %q", got)
	}
	if out := r.Mcpx("auth", "logout", "web"); out != "signed out of web\n" {
		t.Errorf("logout: %s", out)
	}
	if n := g.times("/revoke"); n != 2 {
		t.Errorf("%d tokens were revoked, want 2", n)
	}
	if files, _ := filepath.Glob(filepath.Join(r.Home, ".local/state/mcpx/auth/grant-*")); len(files) > 0 {
		t.Errorf("kept %q", files)
	}
	if e := refused(t, hosts[0], "header"); !strings.Contains(e.Message, "needs sign-in") {
		t.Errorf("after the logout: %s", e.Message)
	}
	if out := r.Mcpx("auth", "logout", "--all"); out != "nobody was signed in\n" {
		t.Errorf("logout --all: %s", out)
	}

	for args, want := range map[string]string{
		"auth login nobody": `mcpx: server "nobody": no config file names this server`,
		"auth login local":  `mcpx: server "local": is a program on this machine`,
		"auth login":        "mcpx: auth: \"login\" does not go with that",
		"auth lgoin web":    "mcpx: auth: \"lgoin\" does not go with that",
	} {
		out, err := r.Command(strings.Fields(args)...).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("mcpx %s: %v %s", args, err, out)
		}
	}
	if fi, err := os.Stat(filepath.Join(r.Home, ".local/state/mcpx/auth")); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the directory of tokens: %v, %v", fi, err)
	}
}

// login2 asks for a login as another terminal would, and does not wait for it.
func login2(t *testing.T, r *rig.Rig) string {
	t.Helper()
	code, body := r.Post("control", "POST", "/v1/auth/web/login", "{}")
	var s api.AuthStatus
	if err := json.Unmarshal([]byte(body), &s); err != nil || code != http.StatusOK || s.State != "pending" {
		t.Errorf("a second login: %d %s", code, body)
	}
	return s.URL
}
