//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
)

// await waits for what a client is to be told.
func await(t *testing.T, ch <-chan string, what string) string {
	t.Helper()
	select {
	case got := <-ch:
		return got
	case <-time.After(rig.Wait):
		t.Fatalf("%s: not within %v", what, rig.Wait)
		return ""
	}
}

// TestOneRoof holds protocol W18: all that two servers of the same kind offer
// reaches a host through one connection, and each answers for itself.
func TestOneRoof(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", `, "scope": "session"`)+`}}`)
	var asked []string
	s, heard := sdkClient(t, r, mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, req.Params.Message)
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	names := toolNames(t, s)
	for _, want := range []string{"ash__ask", "ash__whose", "elm__ask", "elm__whose"} {
		if !slices.Contains(names, want) {
			t.Errorf("no tool %s in %q", want, names)
		}
	}
	for _, name := range []string{"ash", "elm"} {
		if got := callText(t, s, name+"__whose", nil); got != name {
			t.Errorf("%s__whose was answered by %s", name, got)
		}
		p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name + "__greet"})
		if err != nil || p.Description != "by "+name {
			t.Errorf("%s__greet: got %+v, %v", name, p, err)
		}
		for _, uri := range []string{"res://" + name + "/page", "res://" + name + "/other"} {
			c, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || c.Contents[0].Text != name {
				t.Errorf("%s: got %+v, %v", uri, c, err)
			}
		}
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: name + "__greet"}, {Type: "ref/resource", URI: "res://" + name + "/{id}"}} {
			c, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "id", Value: "x"}})
			if err != nil || !slices.Equal(c.Completion.Values, []string{name + ":x"}) {
				t.Errorf("completion of %+v: got %+v, %v", ref, c, err)
			}
		}
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "res://" + name + "/page"}); err != nil {
			t.Error(err)
		}
		callText(t, s, name+"__touch", nil)
		if got := await(t, heard.updated, "updated"); got != "res://"+name+"/page" {
			t.Errorf("updated was %s", got)
		}
	}
	if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
		t.Error(err)
	}
	callText(t, s, "ash__say", named{"info"})
	callText(t, s, "elm__say", named{"error"})
	if got := await(t, heard.said, "a log line"); got != "elm" {
		t.Errorf("the log line of %s got through, which was not asked for", got)
	}
	if got := callText(t, s, "elm__ask", nil); got != "decline" {
		t.Errorf("elm__ask: got %s", got)
	}
	if got := callText(t, s, "ash__ask", nil); !strings.Contains(got, "error") && !strings.Contains(got, "not support") {
		t.Errorf("a shared server asked somebody: %s", got)
	}
	if diff := cmp.Diff([]string{"[server elm] who?"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, unknown := range []string{"whose", "ash__nothing", "oak__whose", "ash__elm__whose"} {
		if got := callText(t, s, unknown, nil); !strings.Contains(got, fmt.Sprintf("unknown tool %q", unknown)) {
			t.Errorf("%s: got %s", unknown, got)
		}
	}
	again, _ := sdkClient(t, r, mcp.ClientOptions{})
	instructions := again.InitializeResult().Instructions
	if !strings.Contains(instructions, "how to use ash") || !strings.Contains(instructions, "how to use elm") {
		t.Errorf("instructions: %q", instructions)
	}
}

// TestUnderOneRoofAServerCostsOnlyItself holds rule R17.
func TestUnderOneRoofAServerCostsOnlyItself(t *testing.T) {
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {
		"broken": {"command": %[1]q, "args": ["-exit", "3"]},
		"absent": {"command": "/nowhere/server"},
		"hung": {"command": %[1]q, "args": ["-hang-init"]},
		"late": {"command": %[1]q, "args": ["-init-delay", "8s"], "mcpx": {"protocol": "legacy"}},
		"slow": {"command": %[1]q, "args": ["-hang-call"]},
		%s}}`, fakemcp, rich(t, "fine", "")))
	s, heard := sdkClient(t, r, mcp.ClientOptions{})
	began := time.Now()
	names := toolNames(t, s)
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("the list took %v", took)
	}
	if !slices.Contains(names, "fine__whose") || !slices.Contains(names, "slow__echo") {
		t.Errorf("the healthy servers' tools are not all there: %q", names)
	}
	hanging, cancel := context.WithCancel(t.Context())
	hung := make(chan error, 1)
	go func() {
		_, err := s.CallTool(hanging, &mcp.CallToolParams{Name: "slow__echo", Arguments: map[string]string{"text": "x"}})
		hung <- err
	}()
	if got := callText(t, s, "fine__whose", nil); got != "fine" {
		t.Errorf("got %s beside a call that hangs", got)
	}
	cancel()
	<-hung
	for !slices.Contains(names, "late__echo") { // it came after the list was given, so the host is told
		await(t, heard.changed, "list_changed of the late server")
		names = toolNames(t, s)
	}
	if got := callText(t, s, "broken__echo", nil); !strings.Contains(got, "broken") {
		t.Errorf("a call of the broken server: %s", got)
	}
}

// TestUnderOneRoofListsFollow: a tool that a server adds, and a server that the
// config adds or loses.
func TestUnderOneRoofListsFollow(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`}}`)
	s, heard := sdkClient(t, r, mcp.ClientOptions{})
	toolNames(t, s)
	callText(t, s, "ash__grow", named{"leaf"})
	await(t, heard.changed, "list_changed of a tool that was added")
	if !slices.Contains(toolNames(t, s), "ash__leaf") {
		t.Error("a tool that was added is not in the list")
	}
	if got := callText(t, s, "ash__leaf", nil); got != "ash leaf" {
		t.Errorf("the added tool: got %s", got)
	}
	write := func(servers string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.Home, ".config/mcpx/config.json"), []byte(`{"mcpServers": {`+servers+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	has := func(tool string, want bool) {
		t.Helper()
		for slices.Contains(toolNames(t, s), tool) != want {
			await(t, heard.changed, "list_changed after a change of the config")
		}
	}
	write(rich(t, "ash", "") + "," + rich(t, "elm", ""))
	has("elm__whose", true)
	write(rich(t, "elm", ""))
	has("ash__whose", false)
	if got := callText(t, s, "ash__whose", nil); !strings.Contains(got, "unknown tool") {
		t.Errorf("a tool of a server that is gone: %s", got)
	}
}

// TestASubscriptionOutlivesItsServer holds protocol W8: the server dies, or the
// daemon does, and the host is told to look again and of what changes then.
func TestASubscriptionOutlivesItsServer(t *testing.T) {
	for _, to := range []string{"rich", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "rich", `, "idleTimeout": "100ms"`)+`}}`)
			var args []string
			touch := "rich__touch"
			if to != "" {
				args, touch = []string{to}, "touch"
			}
			s, heard := sdkClient(t, r, mcp.ClientOptions{}, args...)
			if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "res://rich/page"}); err != nil {
				t.Fatal(err)
			}
			ends := map[string]func(){
				"the server is killed": func() {
					if err := syscall.Kill(r.Instances("rich")[0].PID, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				},
				"the daemon is killed": func() { r.Kill(syscall.SIGKILL) },
			}
			for what, end := range ends {
				end()
				if got := await(t, heard.updated, what); got != "res://rich/page" {
					t.Errorf("%s: told to look at %s", what, got)
				}
				callText(t, s, touch, nil)
				if got := await(t, heard.updated, "a change after "+what); got != "res://rich/page" {
					t.Errorf("after %s: %s was updated", what, got)
				}
			}
		})
	}
}
