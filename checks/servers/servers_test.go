//go:build servers

//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

// Package servers runs servers that people use, from npm, behind the built mcpx.
// checks/servers.sh says what it needs.
package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
)

var (
	mcpx    string
	modules = filepath.Join(os.Getenv("SERVERS"), "node_modules")
)

func TestMain(m *testing.M) {
	os.Exit(rig.Main(m, func(_ string, bins []string) error {
		mcpx = bins[0]
		return nil
	}, "github.com/dezren39/mcpx/cmd/mcpx"))
}

// config is a machine that has all the servers; extra is more of them.
func config(t *testing.T, extra string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("a chromium is needed: %v", err)
	}
	npm := func(bin string) string { return filepath.Join(modules, ".bin", bin) }
	return fmt.Sprintf(`{"mcpServers": {
		"everything": {"command": %q, "mcpx": {"scope": "session"}},
		"filesystem": {"command": %q, "mcpx": {"scope": "worktree"}},
		"memory":     {"command": %q, "env": {"MEMORY_FILE_PATH": "/tmp/${mcpx.none}"}, "mcpx": {"scope": "global"}},
		"thinking":   {"command": %q, "mcpx": {"scope": "session"}},
		"browser":    {"command": %q, "args": ["--headless", "--isolated", "--no-sandbox", "--executable-path", %q], "mcpx": {"scope": "session", "sharing": "exclusive"}},
		"context7":   {"command": %q}%s
	}}`, npm("mcp-server-everything"), npm("mcp-server-filesystem"), npm("mcp-server-memory"), npm("mcp-server-sequential-thinking"),
		npm("playwright-mcp"), chromium, npm("context7-mcp"), extra)
}

// host is a client behind mcpx connect, to one server or to all.
type host struct {
	*mcp.ClientSession
	t       *testing.T
	prefix  string // of the names of a server, under a roof
	asked   chan string
	ticks   chan string
	changed chan string
}

func connect(t *testing.T, r *rig.Rig, dir, session, server string) *host {
	t.Helper()
	h := &host{t: t, asked: make(chan string, 100), ticks: make(chan string, 100), changed: make(chan string, 100)}
	args := []string{"connect", "--session", session}
	if server != "" {
		args = append(args, server)
	}
	cmd := exec.Command(r.Bin, args...)
	cmd.Env, cmd.Dir = r.Env, dir
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.asked <- req.Params.Message
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			h.asked <- "sample"
			return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "sampled"}, Model: "m", Role: "assistant"}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			h.ticks <- fmt.Sprint(req.Params.ProgressToken)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { h.changed <- "tools" },
	})
	c.AddRoots(&mcp.Root{URI: "file://" + dir})
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h.ClientSession = s
	return h
}

func (h *host) tools() (names []string) {
	h.t.Helper()
	for tool, err := range h.Tools(h.t.Context(), nil) {
		if err != nil {
			h.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func (h *host) call(tool string, args any) string {
	h.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	p := &mcp.CallToolParams{Name: h.prefix + tool, Arguments: args}
	p.SetProgressToken("t")
	res, err := h.CallTool(h.t.Context(), p)
	if err != nil {
		h.t.Fatalf("%s: %v", tool, err)
	}
	var text strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	if res.IsError {
		h.t.Errorf("%s: %s", tool, text.String())
	}
	return text.String()
}

func (h *host) holds(got, want string) {
	h.t.Helper()
	if !strings.Contains(got, want) {
		h.t.Errorf("got %.400s, want it to hold %q", got, want)
	}
}

type object = map[string]any

// TestServers is each server alone, and then all under one roof.
func TestServers(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>hello</p>", r.URL.Path)
	}))
	defer page.Close()
	for _, roofed := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "under one roof"}[roofed], func(t *testing.T) {
			memory := filepath.Join(t.TempDir(), "memory.jsonl")
			r := rig.New(t, mcpx, strings.Replace(config(t, ""), "/tmp/${mcpx.none}", memory, 1))
			dir, _ := r.Checkouts()
			under := map[string]*host{}
			open := func(t *testing.T, session, server string) *host {
				if !roofed {
					return connect(t, r, dir, session, server)
				}
				h := under[session]
				if h == nil {
					h = connect(t, r, dir, session, "")
					h.tools() // the first time some are started, and some are told of later
					under[session] = h
				}
				own := *h
				own.t, own.prefix = t, server+"__"
				for !slices.ContainsFunc(own.tools(), func(name string) bool { return strings.HasPrefix(name, own.prefix) }) {
					select {
					case <-h.changed:
					case <-time.After(rig.Wait):
						t.Fatalf("%s has no tools", server)
					}
				}
				return &own
			}
			// Sessions live as long as the whole of this, so the hosts do too.
			for _, session := range []string{"a", "b"} {
				if roofed {
					open(t, session, "everything")
				}
			}
			t.Run("everything", func(t *testing.T) { everything(t, open(t, "a", "everything")) })
			t.Run("filesystem", func(t *testing.T) {
				h := open(t, "a", "filesystem")
				h.holds(h.call("list_allowed_directories", nil), dir)
				h.holds(h.call("read_text_file", object{"path": filepath.Join(dir, ".git", "HEAD")}), "refs/heads/main")
			})
			t.Run("memory", func(t *testing.T) {
				a, b := open(t, "a", "memory"), open(t, "b", "memory")
				a.call("create_entities", object{"entities": []object{{"name": "shop", "entityType": "repo", "observations": []string{"sells"}}}})
				b.holds(b.call("read_graph", nil), "shop")
				if n := len(r.Instances("memory")); n != 1 {
					t.Errorf("%d processes", n)
				}
			})
			t.Run("sequential-thinking", func(t *testing.T) {
				thought := object{"thought": "x", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 3}
				a, b := open(t, "a", "thinking"), open(t, "b", "thinking")
				a.call("sequentialthinking", thought)
				a.holds(a.call("sequentialthinking", thought), `"thoughtHistoryLength": 2`)
				b.holds(b.call("sequentialthinking", thought), `"thoughtHistoryLength": 1`)
			})
			t.Run("browser", func(t *testing.T) {
				a, b := open(t, "a", "browser"), open(t, "b", "browser")
				a.holds(a.call("browser_navigate", object{"url": page.URL + "/of-a"}), "/of-a")
				b.holds(b.call("browser_navigate", object{"url": page.URL + "/of-b"}), "/of-b")
				a.holds(a.call("browser_snapshot", nil), "/of-a")
				if n := len(r.Instances("browser")); n != 2 {
					t.Errorf("%d processes", n)
				}
			})
			t.Run("context7", func(t *testing.T) {
				h := open(t, "a", "context7")
				if len(h.tools()) == 0 {
					t.Error("no tools")
				}
				if in := r.Instances("context7"); len(in) == 1 && in[0].Era != "modern" {
					t.Errorf("it is spoken to in the %s era", in[0].Era)
				}
			})
			var status json.RawMessage = []byte(r.Mcpx("status", "--json"))
			if !json.Valid(status) {
				t.Error("status is no JSON")
			}
			t.Logf("\n%s", r.Mcpx("status"))
		})
	}
}

// everything is the protocol's own showcase.
func everything(t *testing.T, h *host) {
	names := h.tools()
	h.holds(h.call("echo", object{"message": "hi"}), "Echo: hi")
	h.holds(h.call("get-sum", object{"a": 2, "b": 40}), "42")
	h.holds(h.call("get-structured-content", object{"location": "New York"}), "temperature")
	h.call("trigger-long-running-operation", object{"duration": 1, "steps": 3})
	if token := <-h.ticks; token != "t" {
		t.Errorf("progress under the token %s", token)
	}
	if slices.Contains(names, h.prefix+"trigger-sampling-request") {
		h.holds(h.call("trigger-sampling-request", object{"prompt": "p"}), "sampled")
		if asked := <-h.asked; asked != "sample" {
			t.Errorf("asked %s", asked)
		}
	} else {
		t.Error("it was not told that its host samples")
	}
	if slices.Contains(names, h.prefix+"trigger-elicitation-request") {
		h.call("trigger-elicitation-request", nil)
		t.Logf("asked: %s", <-h.asked)
	} else {
		t.Error("it was not told that its host can be asked")
	}
	res, err := h.ListResources(t.Context(), nil)
	if err != nil || len(res.Resources) == 0 {
		t.Fatalf("resources: %v, %v", res, err)
	}
	for _, resource := range res.Resources {
		if strings.HasPrefix(resource.URI, "demo://") {
			if c, err := h.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: resource.URI}); err != nil || len(c.Contents) == 0 {
				t.Errorf("%s: %v", resource.URI, err)
			}
			break
		}
	}
	p, err := h.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: h.prefix + "simple-prompt"})
	if err != nil || len(p.Messages) == 0 {
		t.Errorf("a prompt: %v", err)
	}
}

// TestOverHTTP is a server that is reached by url.
func TestOverHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(filepath.Join(modules, ".bin", "mcp-server-everything"), "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for began := time.Now(); time.Since(began) < rig.Wait; {
		if c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = c.Close()
			break
		}
	}
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"everything": {"url": "http://127.0.0.1:%d/mcp", "mcpx": {"scope": "session"}}}}`, port))
	everything(t, connect(t, r, r.Home, "a", "everything"))
}
