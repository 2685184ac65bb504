package auth

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// expire makes the kept token one that has ended.
func (k *keeper) expire(t *testing.T, target Target, at time.Time) {
	t.Helper()
	_, g := k.look(target.place())
	old := *g
	old.Expiry = at
	if err := k.keep(target.place(), &old); err != nil {
		t.Fatal(err)
	}
}

func TestATokenIsRefreshedOnceForAll(t *testing.T) {
	dir, w := t.TempDir(), newWorld(t)
	k := newKeeper(t, dir, Net{})
	k.signIn(t, w.target())
	k.expire(t, w.target(), time.Now().Add(early/2))
	var wg sync.WaitGroup
	got := make([]string, 20)
	for i := range got {
		wg.Go(func() {
			// Some have seen that it ends, to others the server said so.
			src := k.Tokens(w.target())
			if i%2 == 0 {
				got[i], _ = src.Token(t.Context())
			} else {
				got[i], _ = src.Refused(t.Context(), canaryAccess+"1")
			}
		})
	}
	wg.Wait()
	for i, token := range got {
		if token != canaryAccess+"2" {
			t.Errorf("%d: got %q", i, token)
		}
	}
	if n := w.times("/token"); n != 2 {
		t.Errorf("%d requests for tokens, want one to sign in and one to refresh", n)
	}
	if got := w.last("/token").PostForm.Get("refresh_token"); got != canaryRefresh+"1" {
		t.Errorf("refreshed with %q", got)
	}
	again := newKeeper(t, dir, Net{})
	if _, err := again.Tokens(w.target()).Refused(t.Context(), canaryAccess+"2"); err != nil {
		t.Fatal(err)
	}
	if got := w.last("/token").PostForm.Get("refresh_token"); got != canaryRefresh+"2" {
		t.Errorf("after a restart refreshed with %q: the replaced one was not kept", got)
	}
}

func TestARefreshThatIsRefusedEndsTheSignIn(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"invalid_grant": func(rw http.ResponseWriter, _ *http.Request) {
			writeJSON(rw, 400, map[string]string{"error": "invalid_grant", "error_description": canaryWords})
		},
		"401": func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, canaryWords, http.StatusUnauthorized) },
		"an error with 200": func(rw http.ResponseWriter, _ *http.Request) {
			writeJSON(rw, 200, map[string]string{"error": "invalid_grant"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := newKeeper(t, t.TempDir(), Net{})
			k.signIn(t, w.target())
			w.on("/token", answer)
			fresh, err := k.Tokens(w.target()).Refused(t.Context(), canaryAccess+"1")
			if fresh != "" || err != nil {
				t.Errorf("got %q, %v, want that somebody must sign in", fresh, err)
			}
			if k.Standing(w.target()).SignedIn || k.token(t, w.target()) != "" {
				t.Error("still signed in")
			}
			if files, _ := filepath.Glob(filepath.Join(k.dir, "grant-*")); len(files) > 0 {
				t.Errorf("kept %q", files)
			}
			if strings.Contains(k.log.String(), "canary") {
				t.Errorf("a secret is in the log:\n%s", k.log)
			}
		})
	}
}

func TestARefreshThatFailsForNowLosesNothing(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"500": func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, canaryWords, 500) },
		"429": func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, canaryWords, http.StatusTooManyRequests) },
		"a redirect": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"a page": func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("<html>" + canaryWords)) },
		"another kind": func(rw http.ResponseWriter, _ *http.Request) {
			writeJSON(rw, 200, map[string]string{"access_token": "x", "token_type": "mac"})
		},
		"no header's": func(rw http.ResponseWriter, _ *http.Request) {
			writeJSON(rw, 200, map[string]string{"access_token": "x\r\nX: y", "token_type": "bearer"})
		},
		"a flood": func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(make([]byte, 10*maxBody)) },
		"a broken answer": func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(rw).Hijack()
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := newKeeper(t, t.TempDir(), Net{})
			k.signIn(t, w.target())
			w.on("/token", answer)
			_, err := k.Tokens(w.target()).Refused(t.Context(), canaryAccess+"1")
			if name == "a redirect" { // a refusal: its address is not where tokens are given
				if err != nil || w.times("/elsewhere") > 0 {
					t.Errorf("got %v, and %d requests elsewhere", err, w.times("/elsewhere"))
				}
				return
			}
			if err == nil || strings.Contains(err.Error(), "canary") || !strings.HasPrefix(err.Error(), "sign-in: the token could not be refreshed: ") {
				t.Errorf("got %v", err)
			}
			if !k.Standing(w.target()).SignedIn {
				t.Error("the sign-in is gone")
			}
			// A token that is still good is used to its end.
			k.expire(t, w.target(), time.Now().Add(early/2))
			if got := k.token(t, w.target()); got != canaryAccess+"1" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestATokenWithoutRefresh(t *testing.T) {
	w := newWorld(t)
	w.on("/token", func(rw http.ResponseWriter, _ *http.Request) {
		writeJSON(rw, 200, map[string]any{"access_token": canaryAccess, "token_type": "bearer", "scope": "less"})
	})
	k := newKeeper(t, t.TempDir(), Net{})
	k.signIn(t, w.target())
	if s := k.Standing(w.target()); s.Renews || !s.Expiry.IsZero() || len(s.Scopes) != 1 || s.Scopes[0] != "less" {
		t.Errorf("Standing: %+v", s)
	}
	if fresh, err := k.Tokens(w.target()).Refused(t.Context(), canaryAccess); fresh != "" || err != nil {
		t.Errorf("got %q, %v", fresh, err)
	}
	if k.Standing(w.target()).SignedIn {
		t.Error("still signed in")
	}
}

func TestAMissingScopeIsAskedForNextTime(t *testing.T) {
	w := newWorld(t)
	k := newKeeper(t, t.TempDir(), Net{})
	k.signIn(t, w.target())
	k.Tokens(w.target()).Missing("files:write read")
	k.signIn(t, w.target())
	if got := w.params.Get("scope"); got != "read files:write offline_access" {
		t.Errorf("asked for %q", got)
	}
}

func TestLogout(t *testing.T) { // threat T39
	w := newWorld(t)
	k := newKeeper(t, t.TempDir(), Net{})
	if was, err := k.Logout(t.Context(), w.target()); was || err != nil {
		t.Errorf("nobody was signed in: %v, %v", was, err)
	}
	k.signIn(t, w.target())
	<-k.changed
	if was, err := k.Logout(t.Context(), w.target()); !was || err != nil {
		t.Errorf("Logout: %v, %v", was, err)
	}
	<-k.changed
	if n := w.times("/revoke"); n != 2 {
		t.Errorf("%d tokens were revoked, want both", n)
	}
	if r := w.last("/revoke"); r.PostForm.Get("token") != canaryAccess+"1" || r.PostForm.Get("client_id") != "client-1" {
		t.Errorf("revoked %v", r.PostForm)
	}
	if k.token(t, w.target()) != "" {
		t.Error("still signed in")
	}
	if files, _ := filepath.Glob(filepath.Join(k.dir, "grant-*")); len(files) > 0 {
		t.Errorf("kept %q", files)
	}
	k.signIn(t, w.target())
	w.on("/revoke", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, canaryWords, 500) })
	was, err := k.Logout(t.Context(), w.target())
	if !was || err == nil || strings.Contains(err.Error(), "canary") || k.token(t, w.target()) != "" {
		t.Errorf("an issuer that does not listen: %v, %v", was, err)
	}
}

func TestLogoutEverywhere(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	k := newKeeper(t, t.TempDir(), Net{})
	k.signIn(t, w.target())
	k.signIn(t, other.target())
	other.on("/revoke", func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, canaryWords, http.StatusInternalServerError)
	})
	n, err := k.LogoutAll(t.Context(), []string{"a", "b"})
	if n != 2 || err == nil || !strings.Contains(err.Error(), other.URL+"/mcp: its issuer was not told") || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %d, %v", n, err)
	}
	if w.times("/revoke") != 2 || k.token(t, w.target())+k.token(t, other.target()) != "" {
		t.Error("somebody is still signed in")
	}
	if files, _ := filepath.Glob(filepath.Join(k.dir, "grant-*")); len(files) > 0 {
		t.Errorf("kept %q", files)
	}
}

func TestWhatIsKeptIsNotBelieved(t *testing.T) {
	dir, w := t.TempDir(), newWorld(t)
	k := newKeeper(t, dir, Net{})
	k.signIn(t, w.target())
	files, _ := filepath.Glob(filepath.Join(k.dir, "grant-*"))
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"another address in a file of this name": func() error {
			return os.WriteFile(files[0], []byte(strings.ReplaceAll(string(data), w.URL+"/mcp", "https://evil.test/mcp")), 0o600)
		},
		"no JSON":                func() error { return os.WriteFile(files[0], []byte("{"), 0o600) },
		"writable by others":     func() error { return os.Chmod(files[0], 0o666) },
		"a link to somewhere":    func() error { return os.Symlink("/etc/passwd", filepath.Join(k.dir, "grant-x.json")) },
		"a copy of another name": func() error { return os.WriteFile(filepath.Join(k.dir, "grant-y.json"), data, 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if name == "a link to somewhere" || name == "a copy of another name" {
			_ = os.Remove(files[0])
		}
		again := newKeeper(t, dir, Net{})
		for _, url := range []string{w.URL + "/mcp", "https://evil.test/mcp"} {
			if got := again.token(t, Target{URL: url}); got != "" {
				t.Errorf("%s: %s gets %q", name, url, got)
			}
		}
		_ = os.Remove(filepath.Join(k.dir, "grant-x.json"))
		_ = os.Remove(filepath.Join(k.dir, "grant-y.json"))
		if err := os.WriteFile(files[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(files[0], 0o600)
	}
	if err := os.Chmod(k.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: k.dir}); err == nil {
		t.Error("a directory that others may read was taken")
	}
}
