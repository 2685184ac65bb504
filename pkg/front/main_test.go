package front

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/wire"
)

const token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// house is a front with hosts of the test's making behind it.
type house struct {
	t     *testing.T
	front *Front
	port  string
	hosts chan *fakeHost // as they are opened
	said  func(h *fakeHost, env *wire.Envelope)
}

// fakeHost is what session.Conn is to the front.
type fakeHost struct {
	out    session.Writer
	hello  api.Hello
	single bool
	said   func(h *fakeHost, env *wire.Envelope)
	lines  chan string // as they came
	ended  chan struct{}
	once   sync.Once
}

func (h *fakeHost) Serve(src session.Source) error {
	for {
		line, err := src.Next()
		if err != nil {
			h.Close()
			return nil
		}
		h.lines <- string(line.Bytes)
		if env, err := wire.Scan(bytes.Clone(line.Bytes)); err == nil {
			h.said(h, &env)
		}
	}
}

func (h *fakeHost) Drain() {}

func (h *fakeHost) ToolSchema(name string) []byte {
	return []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`)
}
func (h *fakeHost) Close() { h.once.Do(func() { close(h.ended) }) }

// says writes a line to the host.
func (h *fakeHost) says(format string, args ...any) {
	_ = h.out.Write(fmt.Appendf(nil, format+"\n", args...))
}

// open makes a front in which each host answers every request with its own
// params, or as said does.
func open(t *testing.T, digest bool, said func(h *fakeHost, env *wire.Envelope)) *house {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if said == nil {
		said = echo
	}
	house := &house{t: t, hosts: make(chan *fakeHost, 1000), said: said}
	o := Options{Listener: l, Log: slog.New(slog.DiscardHandler), Open: func(out session.Writer, hello api.Hello, single bool) (Host, *api.Error) {
		h := &fakeHost{out: out, hello: hello, single: single, said: said, lines: make(chan string, 1000), ended: make(chan struct{})}
		house.hosts <- h
		return h, nil
	}}
	if digest {
		sum := sha256.Sum256([]byte(token))
		o.Digest = &sum
	}
	house.front = New(o)
	_, house.port, _ = net.SplitHostPort(l.Addr().String())
	served := make(chan error)
	go func() { served <- house.front.Serve() }()
	t.Cleanup(func() {
		house.front.Close(time.Second)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return house
}

func echo(h *fakeHost, env *wire.Envelope) {
	if env.Kind != wire.Request {
		return
	}
	result := env.Bytes(env.Params)
	if env.Text(env.Method) == "initialize" {
		result = []byte(`{"protocolVersion":"2025-11-25"}`)
	}
	_ = h.out.Write(wire.AppendResult(nil, env.Bytes(env.ID), result))
}

// entered is how many hosts were let in.
func (h *house) entered() int { return len(h.hosts) }

// raw sends bytes and returns the answer.
func (h *house) raw(request string) (status int, header http.Header, text string) {
	h.t.Helper()
	c, err := net.Dial("tcp", "127.0.0.1:"+h.port)
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		h.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		h.t.Fatalf("%.300q: %v", request, err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(body)
}

// send sends a request with the headers that a good host sends, and more: pairs of
// a name and a value. The caller closes the body.
func (h *house) send(method, path, body string, headers ...string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, "http://127.0.0.1:"+h.port+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer
}

// says is send for who reads the whole answer.
func (h *house) says(method, path, body string, headers ...string) (status int, text string) {
	h.t.Helper()
	answer := h.send(method, path, body, headers...)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}

// meta is what a modern request says of its sender.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modern are the headers of one.
func modern(method string, more ...string) []string {
	return append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}, more...)
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`

// session opens one of the legacy era.
func (h *house) session(headers ...string) (id string, host *fakeHost) {
	h.t.Helper()
	answer := h.send("POST", "/mcp/srv", hello, headers...)
	_ = answer.Body.Close()
	host = <-h.hosts
	<-host.lines
	if id = answer.Header.Get(headerSession); answer.StatusCode != 200 || id == "" {
		h.t.Fatalf("initialize: %s, session %q", answer.Status, id)
	}
	return id, host
}

// events reads a stream event by event.
type events struct {
	t *testing.T
	r *bufio.Reader
	c io.Closer
}

func (h *house) events(answer *http.Response) *events {
	h.t.Helper()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "text/event-stream" {
		text, _ := io.ReadAll(answer.Body)
		h.t.Fatalf("%s, %s: %s", answer.Status, kind, text)
	}
	h.t.Cleanup(func() { answer.Body.Close() })
	return &events{h.t, bufio.NewReader(answer.Body), answer.Body}
}

// next is the next event with data, "" at the end, and its id.
func (e *events) next() (id, data string) {
	e.t.Helper()
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			return id, ""
		}
		line = strings.TrimSuffix(line, "\n")
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = value
		}
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			return id, strings.TrimPrefix(value, " ")
		}
	}
}
