//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// eraClient is go-sdk's client behind mcpx connect, in the era of a revision,
// answering questions by its name.
func eraClient(t *testing.T, r *rig.Rig, name, revision, server string) (*mcp.ClientSession, *heard) {
	t.Helper()
	h := &heard{make(chan string, 100), make(chan string, 100), make(chan string, 100)}
	cmd := exec.Command(r.Bin, "connect", server, "--session", name)
	cmd.Env, cmd.Dir = r.Env, r.Home
	c := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { h.updated <- req.Params.URI },
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { h.changed <- "tools" },
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			h.said <- fmt.Sprint(req.Params.Data)
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"who": name}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: name, Content: &mcp.TextContent{Text: "by " + name}}, nil
		},
	})
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, h
}

// TestBothErasOnBothSides has go-sdk's client and server speak through mcpx in
// either era each: questions, subscriptions, changing lists.
func TestBothErasOnBothSides(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"legacy", "modern"} {
		t.Run(server, func(t *testing.T) {
			r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {
				"own":  {"command": %[1]q, "args": ["rich", "own"], "mcpx": {"protocol": %[2]q, "scope": "session"}},
				"each": {"command": %[1]q, "args": ["rich", "each"], "mcpx": {"protocol": %[2]q, "scope": "call"}},
				"both": {"command": %[1]q, "args": ["rich", "both"], "mcpx": {"protocol": %[2]q}},
				"mute": {"command": %[1]q, "args": ["rich", "mute"], "mcpx": {"protocol": %[2]q, "serverRequests": "refuse"}}}}`, self, server))
			for _, host := range []string{"2025-11-25", "2026-07-28"} {
				t.Run(host, func(t *testing.T) {
					testCell(t, r, server, host)
				})
			}
		})
	}
}

func testCell(t *testing.T, r *rig.Rig, server, host string) {
	ask := func(s *mcp.ClientSession, tool, want string) {
		t.Helper()
		if got := callText(t, s, tool, nil); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
	own, _ := eraClient(t, r, "o"+host, host, "own")
	ask(own, "elicits", `"who":"o`+host+`"`)
	ask(own, "samples", "by o"+host)

	each, _ := eraClient(t, r, "e"+host, host, "each")
	ask(each, "elicits", `"who":"e`+host+`"`)

	// Of a shared server, a modern one's questions are certain to be the caller's.
	a, told := eraClient(t, r, "a"+host, host, "both")
	b, _ := eraClient(t, r, "b"+host, host, "both")
	if server == "modern" {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { ask(a, "elicits", `"who":"a`+host+`"`) })
			wg.Go(func() { ask(b, "elicits", `"who":"b`+host+`"`) })
		}
		wg.Wait()
	} else {
		ask(a, "elicits", "error: ")
	}
	mute, _ := eraClient(t, r, "m"+host, host, "mute")
	ask(mute, "elicits", "error: ")

	const page = "res://both/page"
	await := func(ch <-chan string, want string) {
		t.Helper()
		for {
			select {
			case got := <-ch:
				if got == want {
					return
				}
			case <-time.After(rig.Wait):
				t.Fatalf("was not told of %s", want)
			}
		}
	}
	if err := a.Subscribe(t.Context(), &mcp.SubscribeParams{URI: page}); err != nil {
		t.Fatal(err)
	}
	r.Until("word of the resource", func(api.Status) bool {
		ask(b, "touch", "touched") // a listen is under way when subscribe is answered
		return len(told.updated) > 0
	})
	await(told.updated, page)
	for len(told.changed) > 0 {
		<-told.changed
	}
	if got := callText(t, b, "grow", named{"late" + strings.ReplaceAll(host, "-", "")}); got != "grown" {
		t.Fatalf("grow: %s", got)
	}
	await(told.changed, "tools")
	ask(a, "late"+strings.ReplaceAll(host, "-", ""), "both late")
}
