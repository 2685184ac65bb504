//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// overHTTP is a machine whose daemon listens for HTTP, and the front's address.
func overHTTP(t *testing.T, servers string) (r *rig.Rig, url, token string) {
	t.Helper()
	r = rig.New(t, mcpx, `{"mcpServers": {`+servers+`}, "daemon": {"http": {"listen": "127.0.0.1:0"}}}`)
	r.Connect(r.Home).Open() // it starts the daemon
	h := r.Status().Daemon.HTTP
	if h == nil {
		t.Fatal("there is no front")
	}
	text, err := os.ReadFile(h.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	return r, h.URL, strings.TrimSpace(string(text))
}

// headers adds to each request.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// webClient is go-sdk's client over HTTP.
func webClient(t *testing.T, url, token, version string, o mcp.ClientOptions, more headers) (*mcp.ClientSession, *heard) {
	t.Helper()
	h := &heard{make(chan string, 100), make(chan string, 100), make(chan string, 100)}
	o.ResourceUpdatedHandler = func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { h.updated <- req.Params.URI }
	o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { h.changed <- "tools" }
	o.LoggingMessageHandler = func(_ context.Context, req *mcp.LoggingMessageRequest) { h.said <- fmt.Sprint(req.Params.Data) }
	all := headers{"Authorization": "Bearer " + token}
	for name, value := range more {
		all[name] = value
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "web", Version: "1"}, &o)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: all}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("it speaks %s, want %s", got, version)
	}
	return s, h
}

var eras = []string{"2025-11-25", "2026-07-28"}

// awaited is what comes on a channel in time.
func awaited(t *testing.T, from <-chan string, what string) string {
	t.Helper()
	select {
	case text := <-from:
		return text
	case <-time.After(rig.Wait):
		t.Fatalf("%s did not come", what)
		return ""
	}
}

// TestHTTPHostsOfBothEras: go-sdk's client over HTTP, to one server and to all.
func TestHTTPHostsOfBothEras(t *testing.T) {
	_, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q}, %s`, fakemcp, rich(t, "one", "")))
	for _, version := range eras {
		for path, prefix := range map[string]string{"": "fake__", "/fake": ""} {
			t.Run(version+path, func(t *testing.T) {
				progress := make(chan string, 100)
				s, _ := webClient(t, url+path, token, version, mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
						progress <- req.Params.Message
					},
				}, nil)
				if names := toolNames(t, s); !slices.Contains(names, prefix+"echo") || slices.Contains(names, "one__whose") != (path == "") {
					t.Errorf("the tools are %v", names)
				}
				if got := callText(t, s, prefix+"echo", map[string]any{"text": "héllo\n\u2028"}); got != "héllo\n\u2028" {
					t.Errorf("echo: %q", got)
				}
				if got := callText(t, s, prefix+"big", map[string]any{"mib": 2}); len(got) != 2<<20 {
					t.Errorf("2 MiB came as %d bytes", len(got))
				}
				params := &mcp.CallToolParams{Name: prefix + "progress", Arguments: map[string]any{"n": 3, "text": "p"}}
				params.SetProgressToken("tok")
				if _, err := s.CallTool(t.Context(), params); err != nil {
					t.Error(err)
				}
				for range 3 {
					if got := awaited(t, progress, "progress"); got != "p" {
						t.Errorf("progress: %q", got)
					}
				}
				if got := callText(t, s, prefix+"nothing", nil); !strings.Contains(got, "error:") {
					t.Errorf("a tool that is not there: %q", got)
				}
			})
		}
	}
}

// TestWhoHangsUpCancelsOverHTTP: the server hears that nobody waits any more.
func TestWhoHangsUpCancelsOverHTTP(t *testing.T) {
	r, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q}`, fakemcp))
	for _, version := range eras {
		s, _ := webClient(t, url+"/fake", token, version, mcp.ClientOptions{}, nil)
		callText(t, s, "echo", nil)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "sleep", Arguments: map[string]any{"ms": 60_000}})
			over <- err
		}()
		leases := func(n int) {
			t.Helper()
			r.Until(fmt.Sprint(version, ": ", n, " calls in progress"), func(s api.Status) bool {
				in := rig.Of(s, "fake")
				return len(in) == 1 && in[0].Leases == n
			})
		}
		leases(1)
		cancel()
		if err := <-over; err == nil {
			t.Error("a call that was given up was answered")
		}
		leases(0)
	}
}

// TestQuestionsOverHTTPReachWhoCalls: many hosts with one server each that asks at
// the same moment, in both eras; and a shared one that may ask whoever it is.
func TestQuestionsOverHTTPReachWhoCalls(t *testing.T) {
	_, url, token := overHTTP(t, rich(t, "own", `, "scope": "session", "max": 8`))
	var all sync.WaitGroup
	for i := range 6 {
		version, name := eras[i%2], fmt.Sprint("host-", i)
		s, _ := webClient(t, url+"/own", token, version, mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: []string{"accept", "decline", "cancel"}[i%3]}, nil
			},
		}, headers{"X-Mcpx-Session": name})
		all.Go(func() {
			for range 5 {
				if got, want := callText(t, s, "ask", nil), []string{"accept", "decline", "cancel"}[i%3]; got != want {
					t.Errorf("%s (%s): %q, want %q", name, version, got, want)
				}
			}
		})
	}
	all.Wait()
}

// TestSubscriptionsOverHTTP: a host is told what it subscribed to, and of lists
// that change; another host is not.
func TestSubscriptionsOverHTTP(t *testing.T) {
	_, url, token := overHTTP(t, rich(t, "one", ""))
	s, h := webClient(t, url+"/one", token, "2025-11-25", mcp.ClientOptions{}, nil)
	_, deaf := webClient(t, url+"/one", token, "2025-11-25", mcp.ClientOptions{}, nil)
	callText(t, s, "whose", nil)
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "res://one/page"}); err != nil {
		t.Fatal(err)
	}
	callText(t, s, "touch", nil)
	if got := awaited(t, h.updated, "an update"); got != "res://one/page" {
		t.Errorf("updated: %s", got)
	}
	if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	callText(t, s, "say", named{"error"})
	if got := awaited(t, h.said, "a log line"); got != "one" {
		t.Errorf("said: %s", got)
	}
	callText(t, s, "grow", named{"more"})
	awaited(t, h.changed, "the change of the list")
	select {
	case got := <-deaf.updated:
		t.Errorf("who subscribed to nothing was told of %s", got)
	case got := <-deaf.said:
		t.Errorf("who asked for no log was told %s", got)
	default:
	}
	modern, told := webClient(t, url+"/one", token, "2026-07-28", mcp.ClientOptions{}, nil)
	callText(t, modern, "grow", named{"still-more"})
	awaited(t, told.changed, "the change of the list in the modern era")
}

// TestHTTPHostsStandWhereTheySay: X-Mcpx-Cwd decides which process a call goes to,
// and without one a server of a place has none.
func TestHTTPHostsStandWhereTheySay(t *testing.T) {
	r, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q, "mcpx": {"scope": "worktree"}}, "mine": {"command": %q, "mcpx": {"scope": "session"}}`, fakemcp, fakemcp))
	main, linked := r.Checkouts()
	where := func(s *mcp.ClientSession, server string) (cwd string, pid int) {
		var w struct {
			Cwd string `json:"cwd"`
			PID int    `json:"pid"`
		}
		text := callText(t, s, "whoami", nil)
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Fatalf("%s: %s", server, text)
		}
		return w.Cwd, w.PID
	}
	for _, version := range eras {
		pids := map[int]bool{}
		for _, dir := range []string{main, linked, main} {
			s, _ := webClient(t, url+"/fake", token, version, mcp.ClientOptions{}, headers{"X-Mcpx-Cwd": dir})
			cwd, pid := where(s, "fake")
			if cwd != dir {
				t.Errorf("%s: a host in %s was answered from %s", version, dir, cwd)
			}
			pids[pid] = true
		}
		if len(pids) != 2 {
			t.Errorf("%s: two checkouts are %d processes", version, len(pids))
		}
		lost, _ := webClient(t, url+"/fake", token, version, mcp.ClientOptions{}, nil)
		if got := callText(t, lost, "whoami", nil); !strings.Contains(got, "error:") {
			t.Errorf("%s: a host that stands nowhere was answered %s", version, got)
		}
		a, _ := webClient(t, url+"/mine", token, version, mcp.ClientOptions{}, headers{"X-Mcpx-Session": "s"})
		b, _ := webClient(t, url+"/mine", token, version, mcp.ClientOptions{}, headers{"X-Mcpx-Session": "s"})
		c, _ := webClient(t, url+"/mine", token, version, mcp.ClientOptions{}, headers{"X-Mcpx-Session": "t"})
		_, one := where(a, "mine")
		_, same := where(b, "mine")
		_, other := where(c, "mine")
		if one != same || one == other {
			t.Errorf("%s: one session has %d and %d, another %d", version, one, same, other)
		}
	}
}

// TestHostsOverHTTPNeverCross: twenty hosts of both eras, with ids and tokens that
// are the same, at one process: each is told what is its own.
func TestHostsOverHTTPNeverCross(t *testing.T) {
	r, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q}`, fakemcp))
	var all sync.WaitGroup
	for i := range 20 {
		own := fmt.Sprint("host-", i)
		s, _ := webClient(t, url+"/fake", token, eras[i%2], mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				if req.Params.Message != own {
					t.Errorf("%s was told %q", own, req.Params.Message)
				}
			},
		}, nil)
		all.Go(func() {
			for range 10 {
				params := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"n": 3, "ms": 1, "text": own}}
				params.SetProgressToken("tok")
				res, err := s.CallTool(t.Context(), params)
				if err != nil {
					t.Error(err)
					return
				}
				if got := res.Content[0].(*mcp.TextContent).Text; got != "progressed "+own {
					t.Errorf("%s was answered %q", own, got)
				}
			}
		})
	}
	all.Wait()
	if n := len(r.Instances("fake")); n != 1 {
		t.Errorf("they had %d processes", n)
	}
}
