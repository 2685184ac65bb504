package auth

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Values that may stand in no log, error or status.
const (
	canaryAccess  = "canary-of-an-access-token"
	canaryRefresh = "canary-of-a-refresh-token"
	canaryCode    = "canary-of-a-code"
	canaryWords   = "canary of an error body"
)

// world is a server that wants a sign-in and the issuer it names. Every answer
// can be replaced by its path.
type world struct {
	*httptest.Server // both, on a loopback address
	t                *testing.T

	mu      sync.Mutex
	replace map[string]http.HandlerFunc
	asked   []*http.Request // with forms parsed
	params  url.Values      // of the last authorization request
	tokens  int             // given so far
	meta    map[string]any  // the issuer's document; nil members are left out
	iss     bool            // the answer names the issuer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, replace: map[string]http.HandlerFunc{}, meta: map[string]any{}}
	w.Server = httptest.NewUnstartedServer(w)
	w.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	w.Start()
	t.Cleanup(w.Close)
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.mu.Lock()
	w.asked = append(w.asked, r)
	h := w.replace[r.URL.Path]
	w.mu.Unlock()
	if h == nil {
		h = w.good
	}
	h(rw, r)
}

// on has h answer a path.
func (w *world) on(path string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replace[path] = h
}

// says has a document answer a path.
func (w *world) says(path string, document any) {
	w.on(path, func(rw http.ResponseWriter, _ *http.Request) { writeJSON(rw, 200, document) })
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// times is how often a path was asked.
func (w *world) times(path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.asked {
		if r.URL.Path == path {
			n++
		}
	}
	return n
}

func (w *world) last(path string) *http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.asked) - 1; i >= 0; i-- {
		if w.asked[i].URL.Path == path {
			return w.asked[i]
		}
	}
	w.t.Fatalf("%s was not asked", path)
	return nil
}

func (w *world) document() map[string]any {
	m := map[string]any{
		"issuer": w.URL, "authorization_endpoint": w.URL + "/authorize", "token_endpoint": w.URL + "/token",
		"registration_endpoint": w.URL + "/register", "revocation_endpoint": w.URL + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"scopes_supported": []string{"read", "offline_access"},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, v := range w.meta {
		if m[k] = v; v == nil {
			delete(m, k)
		}
	}
	return m
}

func (w *world) good(rw http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/mcp":
		rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+w.URL+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
		rw.WriteHeader(http.StatusUnauthorized)
	case "/.well-known/oauth-protected-resource/mcp":
		writeJSON(rw, 200, map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL}})
	case "/.well-known/oauth-authorization-server":
		writeJSON(rw, 200, w.document())
	case "/register":
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		m["client_id"] = "client-1"
		writeJSON(rw, 201, m)
	case "/authorize":
		w.mu.Lock()
		w.params = r.URL.Query()
		w.mu.Unlock()
		back := url.Values{"code": {canaryCode}, "state": {r.URL.Query().Get("state")}}
		if w.iss {
			back.Set("iss", w.URL)
		}
		http.Redirect(rw, r, r.URL.Query().Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		w.token(rw, r)
	case "/revoke":
	default:
		http.NotFound(rw, r)
	}
}

// token holds a request for a token to what it must be.
func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	asked := w.params
	w.tokens++
	n := w.tokens
	w.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	good := r.PostForm.Get("client_id") == "client-1" && r.PostForm.Get("resource") == w.URL+"/mcp" && r.Header.Get("Authorization") == ""
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		good = good && r.PostForm.Get("code") == canaryCode && challenge == asked.Get("code_challenge") && r.PostForm.Get("redirect_uri") == asked.Get("redirect_uri")
	case "refresh_token":
		good = good && strings.HasPrefix(r.PostForm.Get("refresh_token"), canaryRefresh) && r.PostForm.Get("code") == ""
	}
	if !good {
		w.t.Errorf("a bad request for a token: %v", r.PostForm)
		writeJSON(rw, 400, map[string]string{"error": "invalid_request"})
		return
	}
	writeJSON(rw, 200, map[string]any{
		"access_token": fmt.Sprint(canaryAccess, n), "refresh_token": fmt.Sprint(canaryRefresh, n), "token_type": "Bearer", "expires_in": 3600,
	})
}

func (w *world) target() Target {
	return Target{Server: "srv", URL: w.URL + "/mcp?key=canary-of-a-query"}
}

// keeper is a Keeper, its log, and what it told of changes.
type keeper struct {
	*Keeper
	dir     string
	log     *recorder
	changed chan string
}

func newKeeper(t *testing.T, dir string, net Net) *keeper {
	t.Helper()
	k := &keeper{dir: filepath.Join(dir, "auth"), log: &recorder{}, changed: make(chan string, 100)}
	var err error
	k.Keeper, err = Open(Options{
		Dir: k.dir, Net: net, Changed: func(server string) { k.changed <- server },
		Log: slog.New(slog.NewTextHandler(k.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// token is what a request would carry now.
func (k *keeper) token(t *testing.T, target Target) string {
	t.Helper()
	token, err := k.Tokens(target).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// signIn goes through a whole flow as a person does.
func (k *keeper) signIn(t *testing.T, target Target) {
	t.Helper()
	f, err := k.Login(t.Context(), target)
	if err != nil {
		t.Fatalf("Login: %v", err)
	}
	if status, text := browse(t, f.URL); status != 200 || !strings.Contains(text, "mcpx is signed in at the server srv") {
		t.Errorf("the page says %d %s", status, text)
	}
	if err := over(t, f); err != nil {
		t.Fatalf("the flow: %v", err)
	}
}

func over(t *testing.T, f *Flow) error {
	t.Helper()
	select {
	case <-f.Done():
		return f.Err()
	case <-time.After(20 * time.Second):
		t.Fatal("the flow does not end")
		return nil
	}
}

// browse is a browser: it follows where it is sent.
func browse(t *testing.T, address string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

type recorder struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}
