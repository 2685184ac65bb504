//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
)

type named struct {
	Name string `json:"name"`
}

// richServer is a real server with everything there is to offer, all of it named
// after itself.
func richServer(name string) int {
	var s *mcp.Server
	uri := "res://" + name + "/page"
	s = mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		Instructions:       "how to use " + name,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{name + ":" + req.Params.Argument.Value}}}, nil
		},
	})
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "whose"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text(name), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "touch"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return text("touched"), nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: in.Name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text(name + " " + in.Name), nil, nil
		})
		return text("grown"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "say"}, func(ctx context.Context, req *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		return text("said"), nil, req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(in.Name), Data: name})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		e, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
		if err != nil {
			return nil, nil, err
		}
		return text(e.Action), nil, nil
	})
	addProbes(s, name)
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "by " + name}, nil
	})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: name}}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "page", URI: uri}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "any", URITemplate: "res://" + name + "/{id}"}, read)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// rich is the config of such a server.
func rich(t *testing.T, name, mcpx string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`%q: {"command": %q, "args": ["rich", %q], "mcpx": {"protocol": "legacy"%s}}`, name, self, name, mcpx)
}

// heard is what a client was told, in order.
type heard struct {
	updated chan string
	changed chan string
	said    chan string
}

// sdkClient is go-sdk's client behind mcpx connect.
func sdkClient(t *testing.T, r *rig.Rig, o mcp.ClientOptions, args ...string) (*mcp.ClientSession, *heard) {
	t.Helper()
	h := &heard{make(chan string, 100), make(chan string, 100), make(chan string, 100)}
	o.ResourceUpdatedHandler = func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { h.updated <- req.Params.URI }
	o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { h.changed <- "tools" }
	o.LoggingMessageHandler = func(_ context.Context, req *mcp.LoggingMessageRequest) { h.said <- fmt.Sprint(req.Params.Data) }
	cmd := exec.Command(r.Bin, append([]string{"connect"}, args...)...)
	cmd.Env, cmd.Dir = r.Env, r.Home
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &o)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, h
}

// callText calls a tool and returns the text of its answer, or of its error.
func callText(t *testing.T, s *mcp.ClientSession, tool string, args any) string {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func toolNames(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}
