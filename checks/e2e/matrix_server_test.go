//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// weather is structured content, with a number that floats cannot hold.
type weather struct {
	Degrees int64 `json:"degrees"`
}

const huge = 9007199254740993

// addProbes gives a server the tools of the matrix.
func addProbes(s *mcp.Server, name string) {
	text := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	type handler = mcp.ToolHandlerFor[struct{}, any]
	tool := func(name string, h handler) { mcp.AddTool(s, &mcp.Tool{Name: name}, h) }
	var cancelled atomic.Int64

	mcp.AddTool(s, &mcp.Tool{Name: "weather", Title: "The weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, weather, error) {
			return nil, weather{huge}, nil
		})
	tool("image", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("pixels"), MIMEType: "image/png"}}}, nil, nil
	})
	tool("fail", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		res := text("it broke")
		res.IsError = true
		return res, nil, nil
	})
	tool("big", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text("%s", strings.Repeat("x", 2<<20)), nil, nil
	})
	tool("steps", func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, nil, err
			}
		}
		return text("done"), nil, nil
	})
	tool("where", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		dir, err := os.Getwd()
		return text("%s %d", dir, os.Getpid()), nil, err
	})
	tool("die", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(9)
		return nil, nil, nil
	})
	tool("wait", func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil { // it has begun
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 42})
		}
		select {
		case <-ctx.Done():
			cancelled.Add(1)
			return nil, nil, ctx.Err()
		case <-time.After(time.Minute):
			return text("nobody cancelled"), nil, nil
		}
	})
	tool("cancelled", func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return text("%d", cancelled.Load()), nil, nil
	})
	ask := func(key string, q mcp.InputRequest, answer func(any) string) handler {
		return func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if r, ok := req.Params.InputResponses[key]; ok {
				return text("%s", answer(r)), nil, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: q}}, nil, nil
		}
	}
	encoded := func(r any) string { b, _ := json.Marshal(r); return string(b) }
	tool("elicits", ask("who", &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}, encoded))
	tool("samples", ask("say", &mcp.CreateMessageParams{MaxTokens: 5}, encoded))
	tool("roots", ask("where", &mcp.ListRootsParams{}, encoded))
	tool("client", func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if m := req.Params.GetMeta()["io.modelcontextprotocol/clientInfo"]; m != nil {
			return text("%s", encoded(m)), nil, nil
		}
		if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
			return text("%s", p.ClientInfo.Name), nil, nil
		}
		return text("unknown"), nil, nil
	})
	tool("more", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		s.AddPrompt(&mcp.Prompt{Name: "late"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: name}, nil
		})
		s.AddResource(&mcp.Resource{Name: "late", URI: "res://" + name + "/late"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: name}}}, nil
		})
		return text("more"), nil, nil
	})
}
