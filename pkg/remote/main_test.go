package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// request is what a web server was asked.
type request struct {
	http.Header
	From   string
	Gone   <-chan struct{} // closed when the client has hung up
	Verb   string
	URL    string
	Body   string
	Method string
	ID     string // raw
	Params map[string]json.RawMessage
}

// web is an MCP server over HTTP that does what a test says, and else what a good
// one of its era does.
type web struct {
	*httptest.Server
	t   *testing.T
	sse bool                                         // answers in streams
	on  func(w http.ResponseWriter, r *request) bool // true when it has answered

	mu       sync.Mutex // guards what follows
	era      upstream.Era
	got      []*request
	sessions int
	session  string // "" when it has none
	nameless bool   // never names a session
}

func newWeb(t *testing.T, e upstream.Era) *web {
	t.Helper()
	s := &web{t: t, era: e}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *web) serve(w http.ResponseWriter, hr *http.Request) {
	body, _ := io.ReadAll(hr.Body)
	r := &request{Header: hr.Header, From: hr.RemoteAddr, Gone: hr.Context().Done(), Verb: hr.Method, URL: hr.URL.String(), Body: string(body)}
	var m struct {
		ID     json.RawMessage
		Method string
		Params map[string]json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	r.ID, r.Method, r.Params = string(m.ID), m.Method, m.Params
	s.mu.Lock()
	s.got = append(s.got, r)
	on := s.on
	s.mu.Unlock()
	if on != nil && on(w, r) {
		return
	}
	s.good(w, r)
}

// good answers as a server of the era does.
func (s *web) good(w http.ResponseWriter, r *request) {
	s.mu.Lock()
	modern, session := s.era == upstream.Modern, s.session
	s.mu.Unlock()
	switch {
	case r.Verb == "DELETE":
		w.WriteHeader(http.StatusNoContent)
	case r.Verb != "POST":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case !modern && r.Method == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
	case !modern && r.Method != "initialize" && session != "" && r.Get(headerSession) != session:
		http.Error(w, "session not found", http.StatusNotFound)
	case modern && r.Get(headerVersion) != "2026-07-28":
		s.answer(w, r, 400, `"error":{"code":-32020,"message":"no version"}`)
	case r.Method == "initialize" && !modern:
		s.mu.Lock()
		s.sessions++
		if !s.nameless {
			s.session = fmt.Sprintf("session-%d", s.sessions)
			w.Header().Set(headerSession, s.session)
		}
		s.mu.Unlock()
		s.answer(w, r, 200, `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`)
	case r.Method == "server/discover":
		s.answer(w, r, 200, `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`)
	case r.Method == "tools/list":
		s.answer(w, r, 200, `"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case r.Method == "tools/call":
		s.answer(w, r, 200, `"result":{"content":[{"type":"text","text":"done"}]}`)
	case r.Method == "logging/setLevel":
		s.answer(w, r, 200, `"result":{}`)
	case r.ID == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		s.answer(w, r, map[bool]int{true: 404, false: 200}[modern], `"error":{"code":-32601,"message":"method not found"}`)
	}
}

func (s *web) answer(w http.ResponseWriter, r *request, status int, member string) {
	line := `{"jsonrpc":"2.0","id":` + r.ID + `,` + member + `}`
	if s.sse && status == 200 {
		stream(w, "data: "+line+"\n\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line)
}

// stream writes a part of a stream of events.
func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// asked are the requests of one method, or verb.
func (s *web) asked(method string) (all []*request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.got {
		if r.Method == method || r.Verb == method {
			all = append(all, r)
		}
	}
	return all
}

func (s *web) set(on func(w http.ResponseWriter, r *request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
}

func (s *web) becomes(e upstream.Era) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era = e
}

// only has on answer one method.
func only(method string, on func(w http.ResponseWriter, r *request)) func(http.ResponseWriter, *request) bool {
	return func(w http.ResponseWriter, r *request) bool {
		if r.Method != method && r.Verb != method {
			return false
		}
		on(w, r)
		return true
	}
}

func (s *web) plan() spawn.Plan { return spawn.Plan{Server: "srv", Key: "global", URL: s.URL + "/mcp"} }

// client is a connection and whoever waits for what comes on it.
type client struct {
	*Conn
	t     *testing.T
	ended chan error

	mu      sync.Mutex
	next    int
	waiting map[string]chan string
	notes   chan string
}

func dial(t *testing.T, p spawn.Plan, o Options) *client {
	t.Helper()
	c, err := Dial(t.Context(), p, o)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	k := &client{Conn: c, t: t, ended: make(chan error, 1), waiting: map[string]chan string{}, notes: make(chan string, 1000)}
	go func() { k.ended <- c.Serve(k.take) }()
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		<-k.ended
	})
	return k
}

func (k *client) take(env *wire.Envelope) {
	line := string(env.Line)
	if strings.ContainsAny(line, "\r\n") {
		k.t.Errorf("a line holds a line end: %q", line)
	}
	if env.Kind == wire.Result || env.Kind == wire.Error {
		k.mu.Lock()
		ch := k.waiting[string(env.Bytes(env.ID))]
		delete(k.waiting, string(env.Bytes(env.ID)))
		k.mu.Unlock()
		if ch != nil {
			ch <- line
			return
		}
	}
	k.notes <- line
}

// start sends a request and returns its id and where the answer will come.
func (k *client) start(method, params string) (id string, answer <-chan string) {
	k.t.Helper()
	k.mu.Lock()
	k.next++
	id = fmt.Sprint(k.next)
	ch := make(chan string, 1)
	k.waiting[id] = ch
	k.mu.Unlock()
	if err := k.Write(wire.AppendRequest(nil, []byte(id), method, []byte(params))); err != nil {
		k.t.Fatalf("Write: %v", err)
	}
	return id, ch
}

func (k *client) ask(method, params string) string {
	k.t.Helper()
	_, ch := k.start(method, params)
	return k.await(ch, method)
}

const patience = 20 * time.Second

func (k *client) await(ch <-chan string, what string) string {
	k.t.Helper()
	select {
	case line := <-ch:
		return line
	case <-time.After(patience):
		k.t.Fatalf("%s: nothing came", what)
		return ""
	}
}

// fails asks what must be answered with an error of ours, and returns its message.
func (k *client) fails(method, params string) string {
	k.t.Helper()
	var m struct{ Error struct{ Message string } }
	line := k.ask(method, params)
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Error.Message == "" {
		k.t.Fatalf("%s was answered %.300s", method, line)
	}
	return m.Error.Message
}

// works asks what must be answered with a result.
func (k *client) works(method, params string) string {
	k.t.Helper()
	line := k.ask(method, params)
	if !strings.Contains(line, `"result"`) {
		k.t.Fatalf("%s was answered %.300s", method, line)
	}
	return line
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.After(patience); !ok(); {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-late:
			t.Fatalf("%s did not come about", what)
		}
	}
}

// verdicts is an Eras in memory.
type verdicts map[spawn.Identity]upstream.Verdict

func (v verdicts) Era(id spawn.Identity) (upstream.Verdict, bool) { x, ok := v[id]; return x, ok }
func (v verdicts) SetEra(id spawn.Identity, x upstream.Verdict) {
	if delete(v, id); x != (upstream.Verdict{}) {
		v[id] = x
	}
}

// recorder is a log that a test can look at.
type recorder struct {
	mu sync.Mutex
	bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.String()
}

func (r *recorder) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
