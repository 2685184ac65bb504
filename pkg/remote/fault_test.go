package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// TestFaults: one bad answer fails one call, with words that say what to do, and
// nothing else.
func TestFaults(t *testing.T) {
	answer := func(kind string, status int, text string) func(http.ResponseWriter, *request) {
		return func(w http.ResponseWriter, r *request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(text, "$ID", r.ID))
		}
	}
	const js = "application/json"
	tests := []struct {
		name string
		on   func(http.ResponseWriter, *request)
		want string // of the message; "" for an answer
		text string // of the whole line
	}{
		{"pretty-printed", answer(js, 200, "{\r\n  \"jsonrpc\": \"2.0\",\n\t\"id\": $ID,\n  \"result\": {\"a\": \"b\\nc\"}\n}\n"), "", `{    "jsonrpc": "2.0", 	"id": 1,   "result": {"a": "b\nc"} }`},
		{"with a character set", answer("application/json; charset=utf-8", 200, `{"jsonrpc":"2.0","id":$ID,"result":{}}`), "", `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"status 201", answer(js, 201, `{"jsonrpc":"2.0","id":$ID,"result":{}}`), "", `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"a batch of one", answer(js, 200, `[{"jsonrpc":"2.0","id":$ID,"result":{}}]`), "", `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"the id as a string", answer(js, 200, `{"jsonrpc":"2.0","id":"$ID","result":{}}`), "ORIGIN answered with something that is no answer to the request", ""},
		{"another id", answer(js, 200, `{"jsonrpc":"2.0","id":999,"result":{}}`), "ORIGIN answered with something that is no answer to the request", ""},
		{"nothing", answer(js, 200, ""), "ORIGIN answered with something that is no answer to the request", ""},
		{"broken JSON", answer(js, 200, `{"jsonrpc":"2.0","id":$ID,"result":{`), "the server's answer is not valid: not valid JSON at byte 34", ""},
		{"an answer that two decoders read differently", answer(js, 200, `{"jsonrpc":"2.0","id":$ID,"result":{},"result":{"x":1}}`), `the server's answer is not valid: more than one "result"`, ""},
		{"a page", answer("text/html", 200, "<html>canary</html>"), `ORIGIN answered with "text/html", which is neither JSON nor a stream of events`, ""},
		{"no content type", answer("", 200, `x`), `ORIGIN answered with "", which is neither JSON nor a stream of events`, ""},
		{"202", answer("", 202, ""), "ORIGIN accepted the request and gave no answer (202 Accepted)", ""},
		{"204", answer("", 204, ""), "ORIGIN accepted the request and gave no answer (204 No Content)", ""},
		{"400 with words", answer("text/plain", 400, "canary"), "ORIGIN answered 400 Bad Request", ""},
		{"403", answer("text/plain", 403, "canary"), "ORIGIN answered 403 Forbidden", ""},
		{"404", answer("text/plain", 404, "canary"), "ORIGIN answered 404 Not Found", ""},
		{"429", answer("text/plain", 429, ""), "ORIGIN answered 429 Too Many Requests", ""},
		{"500", answer("text/plain", 500, "canary"), "ORIGIN answered 500 Internal Server Error", ""},
		{"502", answer("text/html", 502, "<html>canary"), "ORIGIN answered 502 Bad Gateway", ""},
		{"a JSON-RPC error with 400", answer(js, 400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no","data":{"x":1}}}`), "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"x":1}}}`},
		{"a JSON-RPC error without an id", answer(js, 500, `{"jsonrpc":"2.0","id":null,"error":{"code":-7,"message":"no","data":{"x":1}}}`), "", `{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"no","data":{"x":1}}}`},
		{"a JSON-RPC error to somebody else", answer(js, 500, `{"jsonrpc":"2.0","id":77,"error":{"code":-7,"message":"no"}}`), "ORIGIN answered 500 Internal Server Error", ""},
		{"a result with 500", answer(js, 500, `{"jsonrpc":"2.0","id":$ID,"result":{}}`), "ORIGIN answered 500 Internal Server Error", ""},
		{"a scope that is missing", func(w http.ResponseWriter, _ *request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="files:write", error_description="canary"`)
			w.WriteHeader(403)
		}, `ORIGIN: the credentials do not cover this: it needs the scope "files:write"`, ""},
		{"a body that is cut", func(w http.ResponseWriter, _ *request) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"jsonrpc`)
		}, "ORIGIN: the connection was closed before the answer", ""},
		{"a connection that is cut", func(w http.ResponseWriter, _ *request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		}, "ORIGIN: the connection was closed before the answer", ""},
		{"headers without end", func(w http.ResponseWriter, _ *request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for range 100_000 {
				if _, err := io.WriteString(conn, "X-Filler: "+strings.Repeat("x", 100)+"\r\n"); err != nil {
					return
				}
			}
		}, "ORIGIN: its headers are over the limit of 65536 bytes", ""},
		{"no HTTP", func(w http.ResponseWriter, _ *request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n\r\n")
		}, "ORIGIN: does not speak HTTP", ""},
	}
	for _, era := range []upstream.Era{upstream.Legacy, upstream.Modern} {
		for _, tt := range tests {
			t.Run(string(era)+"/"+tt.name, func(t *testing.T) {
				s := newWeb(t, era)
				s.nameless = true
				s.set(only("tools/call", tt.on))
				k := dial(t, s.plan(), Options{})
				if tt.want == "" {
					if line := k.ask("tools/call", `{"name":"echo"}`); line != tt.text {
						t.Errorf("got %s\nwant %s", line, tt.text)
					}
					return
				}
				got := strings.ReplaceAll(k.fails("tools/call", `{"name":"echo"}`), s.URL, "ORIGIN")
				if got != `server "srv": `+tt.want && got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if n := len(s.asked("tools/call")); n != 1 {
					t.Errorf("the call was sent %d times", n)
				}
				if strings.Contains(tt.want, "ORIGIN") && !strings.Contains(k.Trouble(), strings.TrimPrefix(tt.want, "ORIGIN")) {
					t.Errorf("status would say %q", k.Trouble())
				}
				k.works("tools/list", "{}") // the connection goes on
				if k.Trouble() != "" {
					t.Errorf("status would still say %q", k.Trouble())
				}
			})
		}
	}
}

// TestBombs: what counts is what a body becomes.
func TestBombs(t *testing.T) { // threat T34
	for era, kind := range map[upstream.Era]string{upstream.Legacy: "application/json", upstream.Modern: "text/event-stream"} {
		s := newWeb(t, era)
		s.set(only("tools/call", func(w http.ResponseWriter, _ *request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb())
		}))
		k := dial(t, s.plan(), Options{most: 1 << 20})
		if got, want := k.fails("tools/call", `{"name":"echo"}`), "the server's answer is over the limit of 1048576 bytes"; !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
		k.works("tools/list", "{}")
	}
}

// bomb is more than may be of a JSON string, in a few kilobytes.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = io.WriteString(z, `data: {"jsonrpc":"2.0","id":1,"result":"`)
	zeros := bytes.Repeat([]byte("0"), 1<<20)
	for range stdio.MaxLine >> 20 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	return b.Bytes()
})

func TestEveryStreamHasItsWordsInOrder(t *testing.T) {
	s := newWeb(t, upstream.Modern)
	s.set(only("tools/call", func(w http.ResponseWriter, r *request) {
		for i := range 50 {
			stream(w, fmt.Sprintf("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\r\n\r\n", r.ID, i))
		}
		stream(w, "event: other\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+r.ID+",\"result\":{}}\n\n")
	}))
	k := dial(t, s.plan(), Options{})
	k.works("tools/call", `{"name":"echo"}`)
	for i := range 50 {
		if got := <-k.notes; !strings.Contains(got, fmt.Sprintf(`"progress":%d}`, i)) {
			t.Fatalf("number %d is %s", i, got)
		}
	}
	if len(k.notes) > 0 {
		t.Errorf("there is also %s", <-k.notes)
	}
}

// TestManyAtOnce: calls go out side by side, in the order they were written, up
// to a bound; the rest waits, and what was taken back meanwhile is never sent.
func TestManyAtOnce(t *testing.T) {
	s := newWeb(t, upstream.Modern)
	release := make(chan struct{})
	s.set(only("tools/call", func(w http.ResponseWriter, r *request) {
		<-release
		s.answer(w, r, 200, `"result":{}`)
	}))
	k := dial(t, s.plan(), Options{})
	var answers []<-chan string
	var last string
	for range maxPosts + 5 {
		id, ch := k.start("tools/call", `{"name":"echo"}`)
		answers, last = append(answers, ch), id
	}
	eventually(t, "as many as may go", func() bool { return len(s.asked("tools/call")) == maxPosts })
	if err := k.Write(wire.AppendNotification(nil, "notifications/cancelled", []byte(`{"requestId":`+last+`}`))); err != nil {
		t.Fatal(err)
	}
	close(release)
	for _, ch := range answers[:len(answers)-1] {
		k.await(ch, "a call of many")
	}
	if n := len(s.asked("tools/call")); n != maxPosts+4 {
		t.Errorf("%d calls were sent, want all but the one that was taken back", n)
	}
}

func TestAServerThatTakesNothingFillsUp(t *testing.T) {
	s := newWeb(t, upstream.Modern)
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	s.set(only("tools/call", func(http.ResponseWriter, *request) { <-gone }))
	k := dial(t, s.plan(), Options{})
	for range maxPosts {
		k.start("tools/call", `{"name":"echo"}`)
	}
	eventually(t, "as many as may go", func() bool { return len(s.asked("tools/call")) == maxPosts })
	big := []byte(`{"name":"echo","arguments":{"x":"` + strings.Repeat("x", 8<<20) + `"}}`)
	for range 1 + maxBytes/len(big) {
		if err := k.Write(wire.AppendRequest(nil, []byte("999"), "tools/call", big)); err != nil {
			if !errors.Is(err, stdio.ErrFull) {
				t.Fatal(err)
			}
			return
		}
	}
	t.Error("it took more than it may keep")
}

// TestStopLeavesNothing: whatever is under way ends, and the server is told.
func TestStopLeavesNothing(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	begun := make(chan struct{}, 1)
	s.set(func(w http.ResponseWriter, r *request) bool {
		if r.Method == "tools/call" || r.Verb == "GET" {
			stream(w, ":\n\n")
			if r.Method == "tools/call" {
				begun <- struct{}{}
			}
			<-gone
			return true
		}
		return false
	})
	k := dial(t, s.plan(), Options{})
	k.start("tools/call", `{"name":"echo"}`)
	<-begun
	if err := k.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-k.ended; err == nil || !err.(*upstream.Failure).Stopped {
		t.Errorf("Serve: %v", err)
	}
	k.ended <- nil
	if n := len(s.asked("DELETE")); n != 1 {
		t.Errorf("the session was ended %d times", n)
	}
	if err := k.Write([]byte(`{"jsonrpc":"2.0","method":"x"}` + "\n")); err == nil {
		t.Error("it takes lines after its end")
	}
}

// TestAServerThatIsGoneIsReachedWhenItIsBack: a restart costs the calls in between.
func TestAServerThatIsGoneIsReachedWhenItIsBack(t *testing.T) {
	s := newWeb(t, upstream.Modern)
	k := dial(t, s.plan(), Options{})
	k.works("tools/list", "{}")
	address := s.Listener.Addr().String()
	s.CloseClientConnections()
	s.Close()
	if msg := k.fails("tools/list", "{}"); !strings.Contains(msg, "could not be reached") && !strings.Contains(msg, "closed") {
		t.Errorf("got %s", msg)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	next := newWeb(t, upstream.Modern)
	again := &http.Server{Handler: next.Config.Handler}
	go func() { _ = again.Serve(l) }()
	t.Cleanup(func() { _ = again.Close() })
	k.works("tools/list", "{}")
}
