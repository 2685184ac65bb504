package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

func TestALostSessionIsOpenedAgain(t *testing.T) { // report N2
	for name, loses := range map[string]func(http.ResponseWriter){
		"404": func(w http.ResponseWriter) { http.Error(w, "not found", http.StatusNotFound) },
		"400": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid Session ID provided"},"id":null}`))
		},
		"400 of a server that was started again": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWeb(t, upstream.Legacy)
			k := dial(t, s.plan(), Options{})
			k.works("logging/setLevel", `{"level":"info"}`)
			k.works("tools/call", `{"name":"echo"}`)
			s.mu.Lock()
			s.session = "of the next process"
			s.mu.Unlock()
			s.set(func(w http.ResponseWriter, r *request) bool {
				if r.Get(headerSession) != "session-1" {
					return false
				}
				loses(w)
				return true
			})
			// Many at once: one new session for all.
			var answers []<-chan string
			for range 10 {
				_, ch := k.start("tools/call", `{"name":"echo"}`)
				answers = append(answers, ch)
			}
			for _, ch := range answers {
				if line := k.await(ch, "a call in a lost session"); !strings.Contains(line, "done") {
					t.Errorf("got %s", line)
				}
			}
			if n := len(s.asked("initialize")); n != 2 {
				t.Errorf("%d sessions were opened, want 2", n)
			}
			if note := k.await(k.notes, "list_changed"); !strings.Contains(note, "notifications/tools/list_changed") {
				t.Errorf("the sessions here heard %s", note)
			}
			eventually(t, "the level is told again", func() bool {
				levels := s.asked("logging/setLevel")
				return len(levels) == 2 && levels[1].Get(headerSession) == "session-2"
			})
		})
	}
}

func TestASessionThatCannotBeOpenedAgainEndsTheConnection(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	k := dial(t, s.plan(), Options{})
	s.set(func(w http.ResponseWriter, r *request) bool { w.WriteHeader(404); return true })
	// The stream may have found out before.
	_ = k.Write(wire.AppendRequest(nil, []byte("1"), "tools/call", []byte(`{"name":"echo"}`)))
	select {
	case <-k.Done():
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	f, _ := k.Failure().(*upstream.Failure)
	if f == nil || f.Reason != "session lost" || f.Stopped {
		t.Errorf("Failure: %+v", f)
	}
	if err := k.Write([]byte("{}\n")); err == nil {
		t.Error("it takes lines after its end")
	}
}

func TestServersWithoutSessions(t *testing.T) { // report N3
	for _, sse := range []bool{false, true} {
		s := newWeb(t, upstream.Legacy)
		s.nameless, s.sse = true, sse
		k := dial(t, s.plan(), Options{})
		if line := k.works("tools/list", "{}"); !strings.Contains(line, `"echo"`) {
			t.Errorf("stream %v: tools/list: %s", sse, line)
		}
		k.works("tools/call", `{"name":"echo"}`)
		for _, r := range s.asked("POST") {
			if r.Get(headerSession) != "" {
				t.Errorf("%s has a session: %s", r.Method, r.Get(headerSession))
			}
		}
	}
}

func TestHeadersOfASession(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	k := dial(t, s.plan(), Options{})
	k.works("tools/call", `{"name":"echo"}`)
	eventually(t, "the stream is asked for", func() bool { return len(s.asked("GET")) == 1 })
	if err := k.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"notifications/initialized", "tools/call", "GET", "DELETE"} {
		r := s.asked(what)
		if len(r) != 1 || r[0].Get(headerSession) != "session-1" || r[0].Get(headerVersion) != "2025-06-18" {
			t.Errorf("%s: got %v", what, r)
		}
	}
	for _, r := range s.asked("POST") {
		if r.Get(headerMethod) != "" && r.Method != "server/discover" {
			t.Errorf("%s has the headers of the other era", r.Method)
		}
	}
}

func TestSessionIDsThatAreNone(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	s.set(only("initialize", func(w http.ResponseWriter, r *request) {
		w.Header().Set(headerSession, "a b")
		s.answer(w, r, 200, `"result":{"protocolVersion":"2025-06-18","capabilities":{}}`)
	}))
	if _, err := Dial(t.Context(), s.plan(), Options{}); err == nil || !strings.Contains(err.Error(), "not visible ASCII") {
		t.Errorf("got %v", err)
	}
}

// TestTheStreamIsResumed: what a server says of itself comes on, wherever the
// stream was cut.
func TestTheStreamIsResumed(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	s.set(only("GET", func(w http.ResponseWriter, r *request) {
		last := r.Get(headerLast)
		note := func(n string) string { return `{"jsonrpc":"2.0","method":"notifications/` + n + `"}` }
		switch {
		case last == "" && len(s.asked("GET")) == 1:
			w.WriteHeader(http.StatusBadGateway)
		case last == "":
			stream(w, "retry: 1\nid: e1\ndata: "+note("one")+"\n\nid: e2\ndata: {\"half\":")
		case last == "e1":
			stream(w, "id: e2\ndata: "+note("two")+"\n\nid: e3\ndata:\n\n")
		default:
			w.WriteHeader(http.StatusMethodNotAllowed) // "e3": enough
		}
	}))
	k := dial(t, s.plan(), Options{})
	for _, want := range []string{"one", "two"} {
		if got := k.await(k.notes, want); !strings.Contains(got, "notifications/"+want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	eventually(t, "the last one", func() bool { return len(s.asked("GET")) == 4 })
	var lasts []string
	for _, r := range s.asked("GET") {
		lasts = append(lasts, r.Get(headerLast))
	}
	if diff := cmp.Diff([]string{"", "", "e1", "e3"}, lasts); diff != "" {
		t.Errorf("Last-Event-ID (-want +got):\n%s", diff)
	}
}

// TestAnAnswerIsResumed: a stream that is cut before its answer goes on by GET.
func TestAnAnswerIsResumed(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	s.set(func(w http.ResponseWriter, r *request) bool {
		switch {
		case r.Method == "tools/call":
			stream(w, "id: p0\nretry: 1\ndata:\n\nid: p1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":"+r.ID+",\"progress\":1}}\n\n")
		case r.Verb == "GET" && r.Get(headerLast) == "p1":
			stream(w, "id: p2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{\"ok\":true}}\n\n")
		default:
			return false
		}
		return true
	})
	k := dial(t, s.plan(), Options{})
	if line := k.ask("tools/call", `{"name":"echo"}`); line != `{"jsonrpc":"2.0","id":1, "result":{"ok":true}}` {
		t.Errorf("got %s", line)
	}
	if n := len(s.asked("tools/call")); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

func TestAStreamThatEndsBeforeTheAnswer(t *testing.T) {
	tests := []struct {
		name string
		era  upstream.Era
		text string
		get  int // status of a GET
		want string
	}{
		{"modern", upstream.Modern, "id: 1\ndata:\n\n", 0, "ORIGIN: the stream ended before the answer"},
		{"without ids", upstream.Legacy, ": hello\n\n", 0, "ORIGIN: the stream ended before the answer"},
		{"in the middle of the answer", upstream.Legacy, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", 0, "ORIGIN: the stream ended before the answer"},
		{"with ids, and nothing to resume", upstream.Legacy, "id: 1\nretry: 1\ndata:\n\n", 404, "ORIGIN: the stream ended before the answer and could not be resumed: 404 Not Found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newWeb(t, tt.era)
			s.set(func(w http.ResponseWriter, r *request) bool {
				switch {
				case r.Method == "tools/call":
					stream(w, tt.text)
				case r.Verb == "GET" && r.Get(headerLast) != "":
					w.WriteHeader(tt.get)
				default:
					return false
				}
				return true
			})
			k := dial(t, s.plan(), Options{})
			got := strings.ReplaceAll(k.fails("tools/call", `{"name":"echo"}`), s.URL, "ORIGIN")
			if want := `server "srv": ` + tt.want; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if n := len(s.asked("tools/call")); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
			k.works("tools/list", "{}") // the connection goes on
		})
	}
}

func TestCancelling(t *testing.T) {
	for _, era := range []upstream.Era{upstream.Legacy, upstream.Modern} {
		t.Run(string(era), func(t *testing.T) {
			s := newWeb(t, era)
			begun, closed := make(chan struct{}), make(chan struct{})
			s.set(only("tools/call", func(w http.ResponseWriter, r *request) {
				stream(w, ": working\n\n")
				close(begun)
				for { // until the client has hung up
					if _, err := w.Write([]byte(":\n\n")); err != nil || http.NewResponseController(w).Flush() != nil {
						close(closed)
						return
					}
					select {
					case <-time.After(time.Millisecond):
					case <-t.Context().Done():
						return
					}
				}
			}))
			k := dial(t, s.plan(), Options{})
			id, _ := k.start("tools/call", `{"name":"slow"}`)
			<-begun
			if err := k.Write(wire.AppendNotification(nil, "notifications/cancelled", []byte(`{"requestId":`+id+`}`))); err != nil {
				t.Fatal(err)
			}
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatal("the stream stays open")
			}
			want := map[upstream.Era]int{upstream.Legacy: 1, upstream.Modern: 0}[era]
			if got := s.asked("notifications/cancelled"); len(got) != want {
				t.Errorf("the server was told %d times, want %d", len(got), want)
			}
			k.works("tools/list", "{}")
			select {
			case line := <-k.notes:
				t.Errorf("something came of it: %s", line)
			default:
			}
		})
	}
}

// TestACallIsTakenBackBeforeAnyAnswer: a server that sends no headers holds no
// place for ever.
func TestACallIsTakenBackBeforeAnyAnswer(t *testing.T) { // threat T33
	for _, era := range []upstream.Era{upstream.Legacy, upstream.Modern} {
		s := newWeb(t, era)
		gone := make(chan struct{})
		t.Cleanup(func() { close(gone) })
		s.set(only("tools/call", func(http.ResponseWriter, *request) { <-gone }))
		k := dial(t, s.plan(), Options{})
		var ids []string
		for range maxPosts {
			id, _ := k.start("tools/call", `{"name":"slow"}`)
			ids = append(ids, id)
		}
		eventually(t, "as many as may go", func() bool { return len(s.asked("tools/call")) == maxPosts })
		for _, id := range ids {
			if err := k.Write(wire.AppendNotification(nil, "notifications/cancelled", []byte(`{"requestId":`+id+`}`))); err != nil {
				t.Fatal(err)
			}
		}
		k.works("tools/list", "{}")
		eventually(t, "nothing is under way", func() bool {
			k.Conn.mu.Lock()
			defer k.Conn.mu.Unlock()
			return len(k.inflight) == 0
		})
	}
}

// TestHTTP2: one connection carries all, and nothing waits for another's answer.
func TestHTTP2(t *testing.T) {
	s := newWeb(t, upstream.Modern)
	over := httptest.NewUnstartedServer(s.Config.Handler)
	over.EnableHTTP2 = true
	over.StartTLS()
	t.Cleanup(over.Close)
	release := make(chan struct{})
	var mu sync.Mutex
	from := map[string]bool{}
	s.set(only("tools/call", func(w http.ResponseWriter, r *request) {
		mu.Lock()
		from[r.From] = true
		mu.Unlock()
		<-release
		s.answer(w, r, 200, `"result":{}`)
	}))
	p := s.plan()
	p.URL = over.URL
	roots := x509.NewCertPool()
	roots.AddCert(over.Certificate())
	if _, err := Dial(t.Context(), p, Options{}); err == nil || !strings.Contains(err.Error(), "its certificate is signed by nobody this system trusts") {
		t.Errorf("an unknown certificate: %v", err)
	}
	k := dial(t, p, Options{TLS: &tls.Config{RootCAs: roots}})
	var answers []<-chan string
	for range 20 {
		_, ch := k.start("tools/call", `{"name":"echo"}`)
		answers = append(answers, ch)
	}
	eventually(t, "all are under way", func() bool { return len(s.asked("tools/call")) == 20 })
	close(release)
	for _, ch := range answers {
		k.await(ch, "a call")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 {
		t.Errorf("%d connections, want one", len(from))
	}
}

// TestANotificationIsAnsweredByItsStatus: some servers keep a stream open for one,
// and say nothing on it.
func TestANotificationIsAnsweredByItsStatus(t *testing.T) {
	s := newWeb(t, upstream.Legacy)
	s.set(func(w http.ResponseWriter, r *request) bool {
		if !strings.HasPrefix(r.Method, "notifications/") {
			return false
		}
		stream(w, ":\n\n")
		<-r.Gone
		return true
	})
	k := dial(t, s.plan(), Options{})
	for range maxAsides + 1 {
		if err := k.Write(wire.AppendNotification(nil, "notifications/x", nil)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all were sent", func() bool { return len(s.asked("notifications/x")) == maxAsides+1 })
	k.works("tools/list", "{}")
}
