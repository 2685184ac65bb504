// Command echo is an MCP server on stdio with the one tool echo, for
// measurements: an ordinary one made with go-sdk, or with the argument raw one
// that does next to nothing, so that what remains is the way to it. With legacy or
// modern it is the ordinary one over HTTP, with sessions or without.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	if len(args) > 0 && args[0] == "raw" {
		return raw(bufio.NewReaderSize(os.Stdin, 1<<20), os.Stdout)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says it again"}, echo)
	if len(args) > 0 {
		return overHTTP(s, args[0] == "modern")
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// overHTTP serves until stdin ends, and says where on stdout.
func overHTTP(s *mcp.Server, modern bool) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: modern})
	go func() { _ = http.Serve(l, handler) }()
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

type words struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, w words) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: w.Text}}}, nil, nil
}

// The raw server's answers, by method. What it does not know it refuses.
var answers = map[string]string{
	"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`,
	"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`,
}

// raw answers lines that are written as the benchmarks and mcpx write them: it
// looks for members by their names alone.
func raw(in *bufio.Reader, out *os.File) error {
	var line []byte
	for {
		request, err := in.ReadSlice('\n')
		if err != nil {
			return nil // the end of the input, or a line beyond all that is measured
		}
		id := between(request, `"id":`, `,`)
		if id == nil {
			continue
		}
		line = append(append(line[:0], `{"jsonrpc":"2.0","id":`...), id...)
		method := string(between(request, `"method":"`, `"`))
		switch result := answers[method]; {
		case method == "tools/call":
			line = append(line, `,"result":{"content":[{"type":"text","text":"`...)
			line = append(line, between(request, `"text":"`, `"`)...)
			line = append(line, `"}]}}`...)
		case result != "":
			line = append(append(append(line, `,"result":`...), result...), '}')
		default:
			line = append(line, `,"error":{"code":-32601,"message":"Method not found"}}`...)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// between is what lies between the first before and the next after; nil when
// either is missing.
func between(line []byte, before, after string) []byte {
	_, rest, ok := bytes.Cut(line, []byte(before))
	if !ok {
		return nil
	}
	found, _, ok := bytes.Cut(rest, []byte(after))
	if !ok {
		return nil
	}
	return found
}
