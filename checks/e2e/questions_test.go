//lint:file-ignore SA1019 sampling is deprecated, and passed on for as long as it is asked for

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
)

// asking is a server that asks its host something while a call waits, and what
// its config says of that.
func asking(method, mcpx string) string {
	return fmt.Sprintf(`"args": ["-ask", %q], "mcpx": {%s}`, method, mcpx)
}

// ask calls the tool ask and returns the way to its answer.
func ask(h *rig.Host, id, who string) <-chan rig.Message {
	answer := h.Expect(id)
	h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"ask","arguments":{"params":{"message":%q}}}}`, id, who))
	return answer
}

// asked waits for the server's question and returns its id and message.
func asked(t *testing.T, h *rig.Host) (id, message string) {
	t.Helper()
	q := h.Note("the server's question")
	var p struct{ Message string }
	if err := json.Unmarshal(q.Params, &p); err != nil || len(q.ID) == 0 {
		t.Fatalf("the host got %s, which is no question: %v", q.Line, err)
	}
	return string(q.ID), p.Message
}

// TestQuestionsReachTheSessionTheyAreFor holds protocol W5 and W6: many sessions,
// each with a server of its own that asks at the same moment under the same id.
func TestQuestionsReachTheSessionTheyAreFor(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": asking("elicitation/create", `"scope": "session", "max": 5`)}))
	const sessions, rounds = 5, 20
	var wg sync.WaitGroup
	for i := range sessions {
		h := r.Connect(r.Home, "one", "--session", fmt.Sprint("s", i))
		h.Caps = []string{"elicitation"}
		h.Open()
		wg.Go(func() {
			for n := range rounds {
				want := fmt.Sprintf("%d-%d", i, n)
				answer := ask(h, fmt.Sprint(100+n), want)
				id, message := asked(t, h)
				if message != want {
					t.Errorf("session %d was asked %q, want %q", i, message, want)
				}
				h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"who":%q}}}`, id, want))
				if got := rig.Text(h.Await(answer, "the call")); !strings.Contains(got, fmt.Sprintf(`"who":%q`, want)) {
					t.Errorf("session %d: the server got %s, want the answer of %s", i, got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestQuestionsOfSharedServers: what becomes of a question, by config and by who
// has a call in flight.
func TestQuestionsOfSharedServers(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{
		"auto":      asking("elicitation/create", ``),
		"attribute": asking("elicitation/create", `"serverRequests": "attribute"`),
		"exclusive": asking("elicitation/create", `"sharing": "exclusive"`),
		"refuse":    asking("elicitation/create", `"scope": "session", "serverRequests": "refuse"`),
		"vendor":    asking("vendor/ask", ``),
	}))
	tests := []struct {
		server, caps string
		want         string // in the server's answer; "" when the host is asked
	}{
		{"auto", "elicitation", `"code":-32601`},
		{"attribute", "elicitation", ``},
		{"attribute", "sampling", `"message":"the host does not offer elicitation"`},
		{"exclusive", "elicitation", ``},
		{"refuse", "elicitation", `"code":-32601`},
		{"vendor", "", ``},
	}
	for _, tt := range tests {
		t.Run(tt.server+" "+tt.caps, func(t *testing.T) {
			a, b := r.Connect(r.Home, tt.server, "--session", "a"), r.Connect(r.Home, tt.server, "--session", "b")
			for _, h := range []*rig.Host{a, b} {
				h.Caps = []string{tt.caps}
				h.Open()
				h.Call("echo", map[string]string{"text": "x"})
			}
			answer := ask(a, "50", "a")
			if tt.want == "" {
				id, _ := asked(t, a)
				a.Send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"n":1.50}}`)
				tt.want = `"result":{"n":1.50}`
			}
			if got := rig.Text(a.Await(answer, "the call")); !strings.Contains(got, tt.want) {
				t.Errorf("the server was answered %s, want %s", got, tt.want)
			}
			if len(b.Notes) > 0 {
				t.Errorf("the other session got %s", (<-b.Notes).Line)
			}
			a.Close()
			b.Close()
		})
	}
}

// TestNobodyIsGuessed: two sessions have calls in flight on one instance.
func TestNobodyIsGuessed(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": asking("elicitation/create", `"serverRequests": "attribute"`)}))
	a, b := r.Connect(r.Home, "one", "--session", "a"), r.Connect(r.Home, "one", "--session", "b")
	for _, h := range []*rig.Host{a, b} {
		h.Caps = []string{"elicitation"}
		h.Open()
	}
	first := ask(a, "1000", "a")
	id, _ := asked(t, a) // its question is open, so its call is in flight
	second := ask(b, "1000", "b")
	if got := rig.Text(b.Await(second, "the second call")); !strings.Contains(got, "ambiguous requester") {
		t.Errorf("the server was answered %s", got)
	}
	a.Send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"decline"}}`)
	if got := rig.Text(a.Await(first, "the first call")); !strings.Contains(got, "decline") {
		t.Errorf("the server was answered %s", got)
	}
	if len(a.Notes)+len(b.Notes) > 0 {
		t.Error("a question reached a host that it may not be for")
	}
}

// TestAQuestionDoesNotOutliveItsDaemon: the host is told that nobody waits for
// the answer, and the call gets its one error.
func TestAQuestionDoesNotOutliveItsDaemon(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": asking("sampling/createMessage", `"scope": "session"`)}))
	h := r.Connect(r.Home, "one")
	h.Caps = []string{"sampling"}
	h.Open()
	answer := ask(h, "50", "x")
	id, _ := asked(t, h)
	r.Kill(syscall.SIGKILL)
	if m := h.Await(answer, "the call of a dead daemon"); m.Error == nil {
		t.Errorf("it was answered %s", m.Line)
	}
	if m := h.Note("the end of the question"); m.Method != "notifications/cancelled" || !strings.Contains(string(m.Params), id) {
		t.Errorf("the host got %s", m.Line)
	}
	h.Send(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`) // late: it fits nothing
	answer = ask(h, "51", "y")
	id, message := asked(t, h)
	h.Send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"model":"m"}}`)
	if got := rig.Text(h.Await(answer, "the next call")); message != "y" || !strings.Contains(got, `"model":"m"`) {
		t.Errorf("asked %q; the server was answered %s", message, got)
	}
}

// sdkServer is a real server that asks its client for sampling and elicitation.
func sdkServer() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		e, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, nil, err
		}
		m, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10})
		if err != nil {
			return nil, nil, err
		}
		text := fmt.Sprintf("%s %v %s", e.Action, e.Content["name"], m.Content.(*mcp.TextContent).Text)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// TestQuestionsBetweenRealPeers: go-sdk's server asks go-sdk's client through
// mcpx. A client that does not offer it is not asked.
func TestQuestionsBetweenRealPeers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"asks": {"command": %q, "args": ["sdk"], "mcpx": {"scope": "session", "protocol": "legacy"}}}}`, filepath.ToSlash(self)))
	open := func(session string, o *mcp.ClientOptions) *mcp.ClientSession {
		cmd := exec.Command(r.Bin, "connect", "asks", "--session", session)
		cmd.Env, cmd.Dir = r.Env, r.Home
		c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, o)
		s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	able := open("able", &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "said"}, Model: "m", Role: "assistant"}, nil
		},
	})
	res, err := able.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("accept Ann said", res.Content[0].(*mcp.TextContent).Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	unable := open("unable", nil)
	res, err = unable.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
	if err == nil && !res.IsError {
		t.Errorf("a client without elicitation was asked: %v", res.Content[0])
	}
}
