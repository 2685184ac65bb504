package page

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestACodeIsGoodOnceAndForAMinute(t *testing.T) {
	now, used := time.Now(), 0
	var k keys
	code := k.code(Visitor{Person: true}, now, func() { used++ })
	token, ok := k.exchange(code, now.Add(codeLife-time.Second))
	if !ok || used != 1 || token == code || len(token) != 64 {
		t.Fatalf("%q, %v, used %d times", token, ok, used)
	}
	if _, ok := k.exchange(code, now); ok {
		t.Error("a code is good twice")
	}
	if _, ok := k.exchange(k.code(Visitor{}, now, func() {}), now.Add(codeLife)); ok {
		t.Error("a code is good for more than a minute")
	}
	if _, ok := k.exchange("", now); ok {
		t.Error("no code is good")
	}
	for range maxTokens {
		k.exchange(k.code(Visitor{}, now, func() {}), now)
	}
	if len(k.tokens) != maxTokens {
		t.Errorf("%d tokens are kept", len(k.tokens))
	}
}

// TestOnlyATokenReachesTheAPI holds threats T9 and T32 of the page's own parts; the
// gate has tests of its own.
func TestOnlyATokenReachesTheAPI(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked []Visitor
	p := New(Options{Listener: l, Dir: dir, Log: slog.New(slog.DiscardHandler), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := VisitorOf(r.Context())
		if !ok {
			t.Error("a request of nobody's")
		}
		asked = append(asked, v)
	})}) // requests come one by one
	served := make(chan error)
	go func() { served <- p.Serve() }()
	base := "http://" + l.Addr().String()
	send := func(method, path, token, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	link, err := p.Link(Visitor{Person: true})
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(link.Address, "#")
	forward, err := os.ReadFile(link.File)
	info, _ := os.Stat(link.File)
	if err != nil || info.Mode() != 0o600 || !bytes.Contains(forward, []byte(link.Address)) {
		t.Fatalf("%v, %v: %s", err, info.Mode(), forward)
	}
	for path, want := range map[string]string{"/": "<title>mcpx</title>", "/main.js": "import", "/page.css": ":root", "/preact.LICENSE": "MIT"} {
		if status, text := send("GET", path, "", ""); status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.80q", path, status, text)
		}
	}
	for name, status := range map[string]int{
		"no token":           first(send("GET", "/v1/events", "", "")),
		"a code as a token":  first(send("GET", "/v1/events", code, "")),
		"a token in the url": first(send("GET", "/v1/events?token="+code, "", "")),
		"no good code":       first(send("POST", "/token", "", `{"code":"x"}`)),
	} {
		if status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _ := send("GET", "/token", "", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("a code by GET: %d", status)
	}
	if len(asked) > 0 {
		t.Errorf("%d came through", len(asked))
	}
	status, text := send("POST", "/token", "", `{"code":"`+code+`"}`)
	var got struct{ Token string }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("the code is used and its file is there: %q", left)
	}
	if status, _ := send("PUT", "/v1/x", got.Token, `{}`); status != 200 || len(asked) != 1 || !asked[0].Person {
		t.Errorf("with the token: %d, %+v", status, asked)
	}
	if _, err := p.Link(Visitor{}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func first(status int, _ string) int { return status }

// TestThePageEndsWhenNobodyLooks for as long as Linger is, and not while somebody
// does.
func TestThePageEndsWhenNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Listener: nowhere{make(chan struct{})}, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
		ended := make(chan error, 1)
		go func() { ended <- p.Serve() }()
		p.enter()
		time.Sleep(3 * Linger)
		synctest.Wait()
		if !p.Watched() || len(ended) > 0 {
			t.Fatal("it ended while somebody looked")
		}
		p.leave()
		time.Sleep(Linger - time.Second)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("it ended too soon")
		}
		if _, err := p.Link(Visitor{}); err != nil {
			t.Fatal(err)
		}
		if !p.Watched() {
			t.Error("nobody is to come")
		}
		time.Sleep(Linger - time.Second)
		synctest.Wait()
		if p.Watched() {
			t.Error("who did not come in a minute is still to come")
		}
		if len(ended) > 0 || p.Over() {
			t.Fatal("it ended although somebody was to come")
		}
		time.Sleep(2 * time.Second)
		if err := <-ended; err != nil || !p.Over() {
			t.Error(err)
		}
	})
}

// nowhere is a listener that nobody comes to.
type nowhere struct{ closed chan struct{} }

func (n nowhere) Accept() (net.Conn, error) { <-n.closed; return nil, net.ErrClosed }
func (n nowhere) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7} }
func (n nowhere) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

func TestSweepRemovesWhatAKilledDaemonLeft(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ui-1.html", "attach.sock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(dir)
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}
