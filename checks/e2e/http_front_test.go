package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/wire"
)

// raw is a host over HTTP that sends bytes: a session of the legacy era.
type raw struct {
	t                   *testing.T
	url, token, session string
}

// post sends a body and returns the status and the messages that came back.
func (h *raw) post(body string) (status int, messages []string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), "POST", h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + h.token},
	}
	if h.session != "" {
		r.Header.Set("Mcp-Session-Id", h.session)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	if answer.Header.Get("Content-Type") != "text/event-stream" {
		return answer.StatusCode, []string{string(text)}
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			messages = append(messages, strings.TrimSuffix(data, "\n"))
		}
	}
	return answer.StatusCode, messages
}

// TestTheFramesOfBothSidesPassHTTPAsTheyWere is the proof of lossless_test over
// HTTP: pretty-printed bodies in, lines out (design D7).
func TestTheFramesOfBothSidesPassHTTPAsTheyWere(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "record")
	frames, err := filepath.Abs("../../pkg/wire/testdata/server.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r, url, token := overHTTP(t, fmt.Sprintf(`"mirror": {"command": %q, "args": ["mirror", %q, %q]}`, self, record, frames))
	h := &raw{t: t, url: url + "/mirror", token: token}
	h.post(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`)
	h.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	h.post(`{"jsonrpc":"2.0","id":"l","method":"logging/setLevel","params":{"level":"debug"}}`)
	h.post(`{"jsonrpc":"2.0","id":"t","method":"tools/list"}`)
	r.Listed("mirror") // mcpx itself asks no more
	for _, f := range table(t, "host.txtar") {
		t.Run(f.Name, func(t *testing.T) {
			line := bytes.TrimRight(f.Data, "\n")
			env, err := wire.Scan(line)
			if err != nil {
				t.Fatal(err)
			}
			before, accepted := len(recorded(t, record, "")), 200
			if env.Kind != wire.Request {
				accepted = 202
			}
			if status, got := h.post("\n" + string(line) + "\r\n"); status != accepted {
				t.Fatalf("%d %s", status, got)
			}
			if env.Kind != wire.Request { // a request comes behind it, and is answered
				h.post(`{"jsonrpc":"2.0","id":"behind","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"behind"}}}`)
			}
			got := slices.DeleteFunc(recorded(t, record, "")[before:], func(own []byte) bool { // the host that started the daemon lists, too
				return bytes.HasSuffix(own, []byte(`"method":"tools/list"}`))
			})
			if env.Kind == wire.Result || env.Kind == wire.Error { // nobody asked for it
				if len(got) != 1 || !bytes.Contains(got[0], []byte("behind")) {
					t.Errorf("the server got %q", got)
				}
				return
			}
			child, err := wire.Scan(got[0])
			if err != nil {
				t.Fatal(err)
			}
			id := child.Bytes(child.ID)
			want := bytes.TrimRight(env.Append(nil, wire.Edit{At: env.ID, With: id}, wire.Edit{At: env.ProgressToken, With: id}), "\n")
			if diff := cmp.Diff(string(want), string(got[0])); diff != "" {
				t.Errorf("what the server got (-want +got):\n%s", diff)
			}
		})
	}
	for i, f := range table(t, "server.txtar") {
		if !bytes.Contains(f.Data, []byte(`"@id"`)) {
			continue // list_changed and its like come by the other stream
		}
		t.Run(f.Name, func(t *testing.T) {
			id, token := fmt.Sprintf(`"\u0069d-%d"`, i), fmt.Sprintf(`"t\u006f-%d"`, i)
			_, got := h.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"mirror","arguments":{"frame":%q},"_meta":{"progressToken":%s}}}`, id, f.Name, token))
			want := strings.NewReplacer(`"@id"`, id, `"@token"`, token).Replace(string(bytes.TrimRight(f.Data, "\n")))
			if diff := cmp.Diff(strings.ReplaceAll(want, "\r", " "), got[len(got)-1]); diff != "" {
				t.Errorf("what the host got (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAHostOverHTTPThatNamesNoSessionIsAskedAlone: each request is a connection of
// its own, and the answer to a question comes back to the call that asked it.
func TestAHostOverHTTPThatNamesNoSessionIsAskedAlone(t *testing.T) {
	_, url, token := overHTTP(t, rich(t, "own", `, "scope": "session"`))
	clients := make([]*mcp.ClientSession, 3)
	for i := range clients {
		clients[i], _ = webClient(t, url+"/own", token, "2026-07-28", mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: []string{"accept", "decline", "cancel"}[i]}, nil
			},
		}, nil)
	}
	answers := make(chan string, len(clients))
	for i, s := range clients {
		go func() { answers <- fmt.Sprint(i, " ", callText(t, s, "ask", nil)) }()
	}
	for range clients {
		switch got := <-answers; got {
		case "0 accept", "1 decline", "2 cancel":
		default:
			t.Errorf("got %q", got)
		}
	}
}

// TestTheFrontIsNobodyElsesMatter: who is slow there, or does not get in, is not
// noticed by hosts on the sockets, and no child has its listener.
func TestTheFrontIsNobodyElsesMatter(t *testing.T) {
	r, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q}`, fakemcp))
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	for i := range 100 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		text := "POST /mcp/fake HTTP/1.1\r\nHost: "
		if i%2 == 0 {
			text = fmt.Sprintf("POST /mcp/fake HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: 60000000\r\n\r\n{", addr, token)
		}
		_, _ = io.WriteString(c, text)
	}
	h := r.Connect(r.Home, "fake")
	h.Open()
	if got := h.Call("echo", map[string]string{"text": "x"}); got != "x" {
		t.Errorf("a host on the socket was answered %q", got)
	}
	for _, in := range r.Instances("fake") {
		if n := opened(in.PID); n > 8 {
			t.Errorf("a child has %d descriptors open", n)
		}
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", in.PID))
		for _, link := range links {
			if to, _ := os.Readlink(link); strings.HasPrefix(to, "socket:") {
				t.Errorf("a child has %s: %s", link, to)
			}
		}
	}
	bad := &raw{t: t, url: url + "/fake", token: "x"}
	if status, _ := bad.post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`); status != 401 {
		t.Errorf("a wrong token: %d", status)
	}
	if log := r.Log(); strings.Contains(log, token) {
		t.Error("the token is in the log")
	}
	if out := r.Mcpx("status") + r.Mcpx("status", "--json") + r.Mcpx("config"); strings.Contains(out, token) || !strings.Contains(out, url) {
		t.Error("status has the token, or not the address")
	}
}

// TestAPortThatAnotherHoldsIsSaid holds threat T32: the daemon serves the rest,
// and doctor and status say who may be told the token.
func TestAPortThatAnotherHoldsIsSaid(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"fake": {"command": %q}}, "daemon": {"http": {"listen": %q}}}`, fakemcp, l.Addr()))
	const want = "is held by another process"
	if out, err := r.Command("doctor").CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
		t.Errorf("doctor without a daemon: %v\n%s", err, out)
	}
	h := r.Connect(r.Home, "fake")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	if out, err := r.Command("doctor").CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
		t.Errorf("doctor with one: %v\n%s", err, out)
	}
	if s := r.Status(); s.Daemon.HTTP != nil || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Message, want) {
		t.Errorf("status: %+v, %+v", s.Daemon.HTTP, s.Problems)
	}
}

// TestTheFrontEndsInGoodOrder: a call in flight is answered when the daemon stops,
// and the next daemon knows the token and not the session.
func TestTheFrontEndsInGoodOrder(t *testing.T) {
	r, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q}`, fakemcp))
	h := &raw{t: t, url: url + "/fake", token: token}
	h.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`)
	h.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	h.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
	answer := make(chan []string)
	go func() {
		_, got := h.post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":500}}}`)
		answer <- got
	}()
	r.Until("the call is in flight", func(s api.Status) bool { return len(s.Instances) == 1 && s.Instances[0].Leases == 1 })
	began := time.Now()
	r.Mcpx("stop")
	if got := <-answer; len(got) != 1 || !strings.Contains(got[0], "slept") {
		t.Errorf("the call in flight was answered %q", got)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("stop took %v", took)
	}
	r.Connect(r.Home).Open()
	h.url = r.Status().Daemon.HTTP.URL + "/fake"
	if status, got := h.post(`{"jsonrpc":"2.0","id":4,"method":"ping"}`); status != 404 {
		t.Errorf("a session of the daemon before: %d %s", status, got)
	}
}
