package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// callback waits on this machine for the browser to come back with the answer:
// at an address that nobody can guess, once (threat T30).
type callback struct {
	listener net.Listener
	server   *http.Server
	path     string
	state    string
	answers  chan result   // holds the one
	told     chan struct{} // closed by tell; verdict is set before
	verdict  error
	wg       sync.WaitGroup

	mu     sync.Mutex // guards what follows
	name   string     // of the server that is signed in at
	issuer string
	mustIs bool // the answer must name the issuer
	used   bool
}

// result is what the browser brought.
type result struct {
	code string
	err  error
}

func newCallback(l net.Listener) *callback {
	c := &callback{listener: l, path: "/" + secret256(), state: secret256(), answers: make(chan result, 1), told: make(chan struct{})}
	c.server = &http.Server{
		Handler: c, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	c.server.SetKeepAlivesEnabled(false)
	c.wg.Go(func() { _ = c.server.Serve(l) })
	return c
}

// address is the redirect_uri: a literal address, since a name may mean another
// one that somebody else listens on.
func (c *callback) address() string { return "http://" + c.listener.Addr().String() + c.path }

// expect says for whom the answer must be, before anybody is sent for it.
func (c *callback) expect(server string, a *authority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.issuer, c.mustIs = server, a.Issuer, a.AuthorizationResponseIssParameterSupported
}

// wait returns the code.
func (c *callback) wait(ctx context.Context) (string, error) {
	select {
	case r := <-c.answers:
		if r.err != nil {
			c.tell(r.err)
		}
		return r.code, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// tell tells whoever looks at the browser how it went.
func (c *callback) tell(err error) {
	c.verdict = err
	close(c.told)
}

// close ends the listener; a page that is being shown is shown to its end.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	c.wg.Wait()
}

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.Method != http.MethodGet || r.Host != c.listener.Addr().String() || r.URL.Path != c.path {
		page(w, http.StatusNotFound, "nothing here")
		return
	}
	answer, err := c.judge(r.URL.Query())
	if err != nil {
		page(w, http.StatusBadRequest, "this is not the answer that mcpx waits for")
		return
	}
	c.answers <- answer
	select {
	case <-c.told:
	case <-r.Context().Done():
		return
	}
	if c.verdict != nil {
		page(w, http.StatusOK, fmt.Sprintf("not signed in at %s: %v", c.name, c.verdict))
		return
	}
	page(w, http.StatusOK, fmt.Sprintf("mcpx is signed in at the server %s, through %s. You can close this page.", c.name, c.issuer))
}

var errStrange = errors.New("not the answer that is waited for")

// judge takes the one answer that has the state; an error is none. "The client
// MUST apply the validation in RFC 9207 … to error responses" too, so nothing of
// an answer is looked at before its issuer.
func (c *callback) judge(q url.Values) (result, error) {
	for _, values := range q {
		if len(values) > 1 {
			return result{}, errStrange
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used || c.issuer == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1 {
		return result{}, errStrange
	}
	c.used = true
	switch iss, named := q["iss"]; {
	case named && iss[0] != c.issuer:
		return result{err: errors.New("the answer names another issuer")}, nil
	case !named && c.mustIs:
		return result{err: errors.New("the answer does not name its issuer, which this one always does")}, nil
	case q.Has("error"):
		return result{err: fmt.Errorf("the issuer refused: %s", word(q.Get("error")))}, nil
	case q.Get("code") == "":
		return result{err: errors.New("the answer holds no code")}, nil
	}
	return result{code: q.Get("code")}, nil
}

func page(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<!doctype html><title>mcpx</title><p>%s</p>\n", html.EscapeString(text))
}
