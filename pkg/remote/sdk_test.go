package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// sdkServer is go-sdk's, with a tool that says hello, counts aloud, repeats a
// header, or asks for the roots.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	type in struct {
		Name string `json:"name"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "hello"}, func(ctx context.Context, r *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			for i := range 3 {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1)})
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + in.Name}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"}, func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		//lint:ignore SA1019 legacy servers ask for roots, and mcpx answers
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		text, _ := json.Marshal(roots.Roots)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, nil
	})
	schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"object","properties":{"deep":{"type":"integer","x-mcp-header":"Deep"}}}}}`)
	s.AddTool(&mcp.Tool{Name: "region", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Mcp-Param-Region")}}}, nil
	})
	return s
}

// sdkHandlers are the three ways go-sdk serves HTTP: with sessions, without, and
// both on one address.
func sdkHandlers() map[string]http.Handler {
	get := func(*http.Request) *mcp.Server { return sdkServer() }
	one := sdkServer()
	same := func(*http.Request) *mcp.Server { return one }
	log := slog.New(slog.DiscardHandler)
	stateful := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{Logger: log, EventStore: mcp.NewMemoryEventStore(nil)})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true})
	return map[string]http.Handler{
		"legacy":      stateful,
		"modern":      stateless,
		"modern JSON": mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true, JSONResponse: true}),
		"legacy JSON": mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{Logger: log, JSONResponse: true}),
		"dual": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("MCP-Protocol-Version") >= "2026-07-28" {
				stateless.ServeHTTP(w, r)
				return
			}
			stateful.ServeHTTP(w, r)
		}),
	}
}

func TestRealServers(t *testing.T) {
	for name, handler := range sdkHandlers() {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(handler)
			t.Cleanup(web.Close)
			p := spawn.Plan{Server: "sdk", URL: web.URL, Workspace: spawn.Workspace{Root: "/src/app", Roots: true}}
			eras := verdicts{}
			c, err := Dial(t.Context(), p, Options{Eras: eras})
			if err != nil {
				t.Fatal(err)
			}
			want := upstream.Modern
			if strings.HasPrefix(name, "legacy") {
				want = upstream.Legacy
			}
			if got := c.Handshake().Era; got != want || eras[p.Identity()].Era != want {
				t.Errorf("era: got %s, remembered %s, want %s", got, eras[p.Identity()].Era, want)
			}
			m := mux.New(c, mux.Options{Server: "sdk"})
			defer func() {
				if err := c.Stop(context.Background()); err != nil {
					t.Error(err)
				}
				<-m.Done()
				if f, ok := m.Err().(*upstream.Failure); !ok || !f.Stopped {
					t.Errorf("Err: got %v, want that it was stopped", m.Err())
				}
			}()
			if _, complete, err := m.List(t.Context(), "tools/list", "tools"); err != nil || !complete {
				t.Fatalf("tools/list: %v, %v", complete, err)
			}
			for i := range 20 {
				sdkCall(t, m, fmt.Sprintf(`{"name":"hello","arguments":{"name":"%d"}}`, i), fmt.Sprintf("hello %d", i))
			}
			if want == upstream.Modern {
				sdkCall(t, m, `{"name":"region","arguments":{"region":"us west","n":{"deep":42}}}`, "us west")
			} else if name != "legacy JSON" { // there the answer has no stream to ask on
				sdkCall(t, m, `{"name":"roots","arguments":{}}`, `[{"name":"app","uri":"file:///src/app"}]`)
			}
		})
	}
}

func sdkCall(t *testing.T, m *mux.Mux, params, want string) {
	t.Helper()
	result, err := m.Call(t.Context(), "tools/call", []byte(params))
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 || r.Content[0].Text != want {
		t.Errorf("%s: got %s, want %q", params, result, want)
	}
}
