package auth

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestSignIn(t *testing.T) {
	dir, w := t.TempDir(), newWorld(t)
	k := newKeeper(t, dir, Net{})
	if got := k.token(t, w.target()); got != "" {
		t.Errorf("before: token %q", got)
	}
	k.signIn(t, w.target())
	if got := k.token(t, w.target()); got != canaryAccess+"1" {
		t.Errorf("token: got %q", got)
	}
	if got := <-k.changed; got != "srv" {
		t.Errorf("changed: %q", got)
	}
	q := w.params
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1", "code_challenge_method": "S256",
		"resource": w.URL + "/mcp", "scope": "read offline_access",
	} {
		if q.Get(name) != want {
			t.Errorf("authorization request: %s is %q, want %q", name, q.Get(name), want)
		}
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Hostname() != "127.0.0.1" || len(back.Path) < 40 || len(q.Get("state")) < 43 {
		t.Errorf("redirect_uri %s, state %s", back, q.Get("state"))
	}
	for _, r := range w.asked {
		if strings.Contains(r.URL.String()+r.Form.Encode(), "canary-of-a-query") && r.URL.Path != "/mcp" {
			t.Errorf("the server's own query went to %s", r.URL.Path)
		}
	}

	// What is kept is kept privately, and found again.
	fi, err := os.Stat(k.dir)
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", fi.Mode(), err)
	}
	files, _ := filepath.Glob(filepath.Join(k.dir, "*"))
	if len(files) != 2 {
		t.Errorf("files: %q, want a grant and the tag", files)
	}
	for _, f := range files {
		if fi, err := os.Stat(f); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, fi.Mode(), err)
		}
	}
	tag, _ := os.ReadFile(filepath.Join(k.dir, "CACHEDIR.TAG"))
	if !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55") {
		t.Errorf("the tag says %q", tag)
	}
	again := newKeeper(t, dir, Net{})
	if got := again.token(t, w.target()); got != canaryAccess+"1" {
		t.Errorf("after a restart: token %q", got)
	}
	s := again.Standing(w.target())
	if !s.SignedIn || s.Issuer != w.URL || !s.Renews || s.Expiry.IsZero() || s.Pending != "" {
		t.Errorf("Standing: %+v", s)
	}
	if strings.Contains(k.log.String(), "canary") {
		t.Errorf("a secret is in the log:\n%s", k.log)
	}
}

// TestOneFlowForAll: whoever asks joins it, and it needs none of them (report N1).
func TestOneFlowForAll(t *testing.T) {
	w := newWorld(t)
	k := newKeeper(t, t.TempDir(), Net{})
	first, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	flows := make([]*Flow, 5)
	for i := range flows {
		wg.Go(func() {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			var err error
			if flows[i], err = k.Login(ctx, w.target()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	cancel()
	for _, f := range flows {
		if f != flows[0] {
			t.Error("two flows")
		}
	}
	if n := w.times("/register"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
	if got := k.Standing(w.target()).Pending; got != flows[0].URL {
		t.Errorf("Standing: pending %q", got)
	}
	browse(t, flows[0].URL)
	if err := over(t, flows[0]); err != nil {
		t.Error(err)
	}
	if k.token(t, w.target()) == "" {
		t.Error("nobody is signed in")
	}
}

func TestPlacesAreApart(t *testing.T) { // threats T6, T29
	w := newWorld(t)
	k := newKeeper(t, t.TempDir(), Net{})
	k.signIn(t, w.target())
	for name, other := range map[string]Target{
		"a project's file":   {Server: "srv", URL: w.URL + "/mcp", Project: true},
		"another path":       {Server: "srv", URL: w.URL + "/mcp/other"},
		"another port":       {Server: "srv", URL: "http://127.0.0.1:1/mcp"},
		"another scheme":     {Server: "srv", URL: strings.Replace(w.URL, "http", "https", 1) + "/mcp"},
		"another host":       {Server: "srv", URL: strings.Replace(w.URL, "127.0.0.1", "localhost", 1) + "/mcp"},
		"a name that begins": {Server: "srv", URL: strings.Replace(w.URL, "127.0.0.1", "127.0.0.1.evil.test", 1) + "/mcp"},
	} {
		if got := k.token(t, other); got != "" {
			t.Errorf("%s gets the token", name)
		}
	}
	for name, same := range map[string]Target{
		"another name":     {Server: "other", URL: w.URL + "/mcp"},
		"another query":    {Server: "srv", URL: w.URL + "/mcp?x=y"},
		"another userinfo": {Server: "srv", URL: strings.Replace(w.URL, "://", "://u:p@", 1) + "/mcp#f"},
	} {
		if got := k.token(t, same); got == "" {
			t.Errorf("%s gets no token", name)
		}
	}
}

// TestWhatIsNotSignedInAt: each is refused before anybody is registered or sent
// anywhere, in words of ours (threats T30, T31).
func TestWhatIsNotSignedInAt(t *testing.T) {
	const prm, asm = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"
	endpoint := func(name, value string) func(*world) {
		return func(w *world) { w.meta[name] = strings.ReplaceAll(value, "ORIGIN", w.URL) }
	}
	text := func(path string, status int, body string) func(*world) {
		return func(w *world) {
			w.on(path, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status); _, _ = rw.Write([]byte(body)) })
		}
	}
	leads := func(to string) func(*world) {
		return func(w *world) {
			w.on(asm, func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Location", strings.ReplaceAll(to, "ORIGIN", w.URL))
				rw.WriteHeader(http.StatusFound)
			})
		}
	}
	const badAddress = " is not an https address"
	tests := []struct {
		name string
		set  func(*world)
		want string
	}{
		{"no PKCE", endpoint("code_challenge_methods_supported", ""), "ORIGIN answered with something that is not JSON"},
		{"no PKCE at all", func(w *world) { w.meta["code_challenge_methods_supported"] = nil }, "the issuer does not offer PKCE with S256, without which a code could be stolen"},
		{"PKCE without S256", func(w *world) { w.meta["code_challenge_methods_supported"] = []string{"plain"} }, "the issuer does not offer PKCE with S256, without which a code could be stolen"},
		{"no codes", func(w *world) { w.meta["response_types_supported"] = []string{"token"} }, "the issuer gives no authorization codes"},
		{"another issuer's document", endpoint("issuer", "https://evil.test"), "the issuer's metadata is that of another issuer"},
		{"a document without an issuer", endpoint("issuer", ""), "the issuer's metadata is that of another issuer"},
		{"authorization at a file", endpoint("authorization_endpoint", "file:///etc/passwd"), "the issuer's authorization_endpoint is no address"},
		{"authorization by a script", endpoint("authorization_endpoint", "javascript:alert(1)"), "the issuer's authorization_endpoint is no address"},
		{"authorization by an option", endpoint("authorization_endpoint", "--x"), "the issuer's authorization_endpoint is no address"},
		{"authorization by a shell", endpoint("authorization_endpoint", "a$(x)"), "the issuer's authorization_endpoint is no address"},
		{"authorization at a shell's host", endpoint("authorization_endpoint", "https://a$(x)/"), "the issuer's authorization_endpoint is no address"},
		{"authorization without TLS", endpoint("authorization_endpoint", "http://as.test/authorize"), "the issuer's authorization_endpoint" + badAddress},
		{"authorization with a line end", endpoint("authorization_endpoint", "https://as.test/a b"), "the issuer's authorization_endpoint holds what does not belong there"},
		{"authorization with userinfo", endpoint("authorization_endpoint", "https://u:p@as.test/a"), "the issuer's authorization_endpoint holds what does not belong there"},
		{"no authorization", endpoint("authorization_endpoint", ""), "the issuer's authorization_endpoint is no address"},
		{"tokens without TLS", endpoint("token_endpoint", "http://as.test/token"), "the issuer's token_endpoint" + badAddress},
		{"no tokens", func(w *world) { w.meta["token_endpoint"] = nil }, "the issuer's token_endpoint is no address"},
		{"registration without TLS", endpoint("registration_endpoint", "http://as.test/r"), "the issuer's registration_endpoint" + badAddress},
		{"no registration", func(w *world) { w.meta["registration_endpoint"] = nil }, "the issuer registers no programs by itself, and mcpx is not known to it"},
		{"a refused registration", text("/register", 400, `{"error":"invalid_client_metadata","error_description":"`+canaryWords+`"}`), "the issuer did not register mcpx: invalid_client_metadata"},
		{"a broken registration", text("/register", 500, canaryWords), "the issuer did not register mcpx"},
		{"a registration of nobody", text("/register", 201, `{"x":"`+canaryWords+`"}`), "the issuer did not register mcpx"},
		{"a registration that leads on", func(w *world) {
			w.on("/register", func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, "/register2", http.StatusTemporaryRedirect)
			})
		}, "the issuer did not register mcpx"},
		{"another server's document", func(w *world) {
			w.says(prm, map[string]any{"resource": "https://evil.test/mcp", "authorization_servers": []string{w.URL}})
		}, "the server's metadata is that of another server"},
		{"a document of another path", func(w *world) {
			w.says(prm, map[string]any{"resource": w.URL + "/mc", "authorization_servers": []string{w.URL}})
		}, "the server's metadata is that of another server"},
		{"a document of nobody", func(w *world) { w.says(prm, map[string]any{"resource": w.URL + "/mcp"}) }, "the server's metadata names nobody to sign in at"},
		{"an issuer without TLS", func(w *world) {
			w.says(prm, map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{"http://as.test"}})
		}, "the issuer" + badAddress},
		{"an issuer of no kind", func(w *world) {
			w.says(prm, map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{"file:///x"}})
		}, "the issuer is no address"},
		{"an issuer that is silent", text(asm, 404, canaryWords), "the issuer ORIGIN says nothing of itself"},
		{"an issuer that is broken", text(asm, 503, canaryWords), "ORIGIN answered 503"},
		{"no JSON", text(asm, 200, "<html>"+canaryWords), "ORIGIN answered with something that is not JSON"},
		{"a document without end", text(asm, 200, `{"x":"`+strings.Repeat("x", maxBody)+`"}`), "ORIGIN the answer is longer than 64 KiB"},
		{"a document that leads to another origin", leads("https://evil.test/x"), "ORIGIN answered 302"},
		{"a document that leads on and on", leads("ORIGIN" + asm), "ORIGIN answered 302"},
		{"a server that wants none", text("/mcp", 200, "{}"), "the server answers without one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.set(w)
			k := newKeeper(t, t.TempDir(), Net{})
			f, err := k.Login(t.Context(), w.target())
			if err == nil {
				t.Fatalf("a browser would be sent to %s", f.URL)
			}
			if got := strings.ReplaceAll(err.Error(), w.URL, "ORIGIN"); got != "sign-in: "+tt.want {
				t.Errorf("got  %s\nwant sign-in: %s", got, tt.want)
			}
			if !strings.HasPrefix(tt.want, "the issuer did not register") && w.times("/register") > 0 {
				t.Error("mcpx was registered")
			}
			if strings.Contains(err.Error()+k.log.String(), "canary") {
				t.Errorf("what was answered is told: %v\n%s", err, k.log)
			}
			if n := w.times("/register2") + w.times("/authorize") + w.times("/token"); n > 0 {
				t.Errorf("%d more requests", n)
			}
		})
	}
}

// TestOlderWaysToSignIn: servers differ in where their documents are.
func TestOlderWaysToSignIn(t *testing.T) {
	const prm = "/.well-known/oauth-protected-resource"
	for name, set := range map[string]func(w *world){
		"no challenge": func(w *world) {
			w.on("/mcp", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) })
		},
		"a challenge that is broken": func(w *world) {
			w.on("/mcp", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("WWW-Authenticate", `Bearer realm="x`)
				rw.WriteHeader(http.StatusUnauthorized)
			})
		},
		"a document at the root only": func(w *world) {
			w.on(prm+"/mcp", http.NotFound)
			w.says(prm, map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL + "/"}})
		},
		"no document: the server is its own issuer": func(w *world) { w.on(prm+"/mcp", http.NotFound) },
		"an issuer of OpenID Connect": func(w *world) {
			w.on("/.well-known/oauth-authorization-server", http.NotFound)
			w.on("/.well-known/openid-configuration", func(rw http.ResponseWriter, _ *http.Request) { writeJSON(rw, 200, w.document()) })
		},
		"an issuer below a path": func(w *world) {
			w.says(prm+"/mcp", map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL + "/tenant"}})
			w.meta["issuer"] = w.URL + "/tenant"
			w.on("/tenant/.well-known/openid-configuration", func(rw http.ResponseWriter, _ *http.Request) { writeJSON(rw, 200, w.document()) })
			w.on("/.well-known/oauth-authorization-server", http.NotFound)
		},
		"a client that has a secret": func(w *world) {
			w.on("/register", func(rw http.ResponseWriter, _ *http.Request) {
				writeJSON(rw, 201, map[string]any{"client_id": "client-1", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"})
			})
		},
		"an issuer that names itself": func(w *world) {
			w.iss = true
			w.meta["authorization_response_iss_parameter_supported"] = true
		},
		"an issuer that names itself without having said so": func(w *world) { w.iss = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			set(w)
			k := newKeeper(t, t.TempDir(), Net{})
			k.signIn(t, w.target())
			if k.token(t, w.target()) == "" {
				t.Error("nobody is signed in")
			}
		})
	}
}
