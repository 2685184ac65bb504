package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// remoteServer is go-sdk's over HTTP, with a tool that says which request headers
// it got and asks for the roots where that can be.
func remoteServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, &mcp.Tool{Name: "header"}, func(_ context.Context, r *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get(in.Name)}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "roots"}, func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		//lint:ignore SA1019 legacy servers ask for roots, and mcpx answers
		list, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		text, err := json.Marshal(list.Roots)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: &jsonschema.Schema{Type: "object"}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Content["who"])}}}, nil, nil
	})
	return s
}

// remotes serves one such server in each era, and one on an address of both.
type remotes struct {
	*httptest.Server
	stateful atomic.Pointer[mcp.StreamableHTTPHandler]
}

func newRemotes(t *testing.T) *remotes {
	r := &remotes{}
	r.forget()
	log := slog.New(slog.DiscardHandler)
	stateless := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return remoteServer() },
		&mcp.StreamableHTTPOptions{Logger: log, Stateless: true})
	m := http.NewServeMux()
	m.Handle("/modern", stateless)
	m.HandleFunc("/legacy", func(w http.ResponseWriter, q *http.Request) { r.stateful.Load().ServeHTTP(w, q) })
	m.HandleFunc("/dual", func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, q)
			return
		}
		r.stateful.Load().ServeHTTP(w, q)
	})
	r.Server = httptest.NewServer(m)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// forget loses all sessions, as a server that is started again does.
func (r *remotes) forget() {
	s := remoteServer()
	r.stateful.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler)}))
}

func TestRemotes(t *testing.T) {
	web := newRemotes(t)
	secret := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secret, []byte("of a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, era := range map[string]string{"legacy": "legacy", "modern": "modern", "dual": "modern"} {
		t.Run(path, func(t *testing.T) {
			r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"web": {
				"url": "%s/%s", "headers": {"X-Plain": "written out"},
				"mcpx": {"scope": "worktree", "secrets": {"X-Secret": {"file": %q}, "X-Told": {"command": ["echo", "of a command"]}}}
			}}}`, web.URL, path, secret))
			main, linked := r.Checkouts()
			hosts := []*rig.Host{r.Connect(main, "web"), r.Connect(filepath.Join(main, "sub"), "web"), r.Connect(linked, "web")}
			for _, h := range hosts {
				h.Open()
				m := h.Ask("tools/list", map[string]any{})
				if !strings.Contains(string(m.Result), `"roots"`) || !strings.Contains(string(m.Result), `"header"`) {
					t.Errorf("tools/list: %s", m.Line)
				}
				for name, want := range map[string]string{"X-Plain": "written out", "X-Secret": "of a file", "X-Told": "of a command"} {
					if got := h.Call("header", map[string]string{"name": name}); got != want {
						t.Errorf("the server got %s: %q, want %q", name, got, want)
					}
				}
			}
			if era == "legacy" {
				for i, dir := range []string{main, main, linked} {
					if got, want := hosts[i].Call("roots", nil), fmt.Sprintf(`[{"name":%q,"uri":"file://%s"}]`, filepath.Base(dir), dir); got != want {
						t.Errorf("host %d: the server was told %s, want %s", i, got, want)
					}
				}
			}
			r.Until("both are connected", func(s api.Status) bool {
				in := rig.Of(s, "web")
				return len(in) == 2 && in[0].State == "connected" && in[1].State == "connected"
			})
			for _, in := range r.Instances("web") {
				if in.PID != 0 || in.Era != era || in.Cwd != "" || in.Tools != 3 {
					t.Errorf("status: %+v", in)
				}
			}
			for _, text := range []string{r.Mcpx("status", "--json"), r.Mcpx("config"), r.Log()} {
				if strings.Contains(text, "of a file") || strings.Contains(text, "written out") {
					t.Errorf("a secret was told: %s", text)
				}
			}
		})
	}
}

func TestARemoteThatLosesItsSessions(t *testing.T) { // report N2
	web := newRemotes(t)
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"web": {"url": "%s/legacy"}}}`, web.URL))
	a, b := open(r, r.Home, "web"), open(r, r.Home, "web")
	a.Call("header", map[string]string{"name": "Accept"})
	web.forget()
	for range 3 {
		for _, h := range []*rig.Host{a, b} {
			if got := h.Call("header", map[string]string{"name": "Mcp-Protocol-Version"}); got != "2025-11-25" {
				t.Errorf("got version %q", got)
			}
		}
	}
	if m := a.Ask("tools/list", map[string]any{}); !strings.Contains(string(m.Result), `"header"`) {
		t.Errorf("tools/list: %s", m.Line)
	}
	if in := r.Instances("web"); len(in) != 1 || in[0].Errors != 0 {
		t.Errorf("status: %+v", in)
	}
	if n := strings.Count(r.Log(), "opened session again"); n != 1 {
		t.Errorf("%d sessions were opened again, want one", n)
	}
}

func TestARemoteThatIsNotThere(t *testing.T) {
	web := newRemotes(t)
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"gone": {"url": "http://127.0.0.1:1/mcp?key=canary"}, "web": {"url": "%s/nowhere"}}}`, web.URL))
	for server, want := range map[string]string{
		"gone": `server "gone": http://127.0.0.1:1: could not be reached: connect: connection refused`,
		"web":  fmt.Sprintf(`server "web": %s answered 404 Not Found`, web.URL),
	} {
		h := open(r, r.Home, server)
		if e := refused(t, h, "header"); !strings.HasPrefix(e.Message, want) || !strings.Contains(string(e.Data), `"hint"`) {
			t.Errorf("got %s %s, want %s and a hint", e.Message, e.Data, want)
		}
		if in := r.Instances(server); len(in) != 1 || in[0].State != "backing-off" {
			t.Errorf("status: %+v", in)
		}
	}
	if text := r.Mcpx("status", "--json") + r.Log(); strings.Contains(text, "canary") {
		t.Errorf("a secret was told: %s", text)
	}
}

// TestARemoteAsksItsSession: questions and progress come on the stream of the
// call, the answer goes back as a request of its own.
func TestARemoteAsksItsSession(t *testing.T) { // protocol W3, W5
	web := newRemotes(t)
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"web": {"url": "%s/legacy", "mcpx": {"scope": "session"}}}}`, web.URL))
	for _, who := range []string{"Ada", "Bob"} {
		h := r.Connect(r.Home, "web", "--session", who)
		h.Caps = []string{"elicitation"}
		h.Open()
		answer := h.Expect("7")
		h.Send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask","_meta":{"progressToken":"mine"}}}`)
		if m := h.Note("progress"); m.Method != "notifications/progress" || !strings.Contains(string(m.Params), `"mine"`) {
			t.Errorf("the host got %s, want progress under its own token", m.Line)
		}
		id, _ := asked(t, h)
		h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"who":%q}}}`, id, who))
		if got := rig.Text(h.Await(answer, "the call")); got != who {
			t.Errorf("the server got %q, want %q", got, who)
		}
	}
}
