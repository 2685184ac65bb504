package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cutting breaks the stream that answers a call off behind its first event that
// says something, once.
type cutting struct {
	headers
	cut   atomic.Bool
	again atomic.Int32 // requests that go on with a stream
}

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Last-Event-Id") != "" {
		c.again.Add(1)
	}
	answer, err := c.headers.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") && c.cut.CompareAndSwap(false, true) {
		answer.Body = &cutOff{ReadCloser: answer.Body}
	}
	return answer, err
}

// cutOff ends in the event after the first that has a message in it.
type cutOff struct {
	io.ReadCloser
	seen []byte
}

func (s *cutOff) Read(b []byte) (int, error) {
	if bytes.Contains(s.seen, []byte(`"progress"`)) && bytes.HasSuffix(s.seen, []byte("\n\n")) {
		_ = s.ReadCloser.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.ReadCloser.Read(b[:1])
	s.seen = append(s.seen, b[:n]...)
	return n, err
}

// TestHTTPStreamsAreTakenUp: go-sdk's client loses its connection in the middle of
// a call, and gets every message once all the same.
func TestHTTPStreamsAreTakenUp(t *testing.T) {
	_, url, token := overHTTP(t, fmt.Sprintf(`"fake": {"command": %q}`, fakemcp))
	heard := make(chan string, 100)
	c := mcp.NewClient(&mcp.Implementation{Name: "web", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			heard <- fmt.Sprint(req.Params.Progress)
		},
	})
	way := &cutting{headers: headers{"Authorization": "Bearer " + token}}
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/fake", HTTPClient: &http.Client{Transport: way}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"n": 5, "ms": 20, "text": "p"}}
	params.SetProgressToken("tok")
	res, err := s.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Content[0].(*mcp.TextContent).Text; got != "progressed p" {
		t.Errorf("the answer is %q", got)
	}
	for i := range 5 {
		if got := awaited(t, heard, "progress"); got != fmt.Sprint(i+1) {
			t.Errorf("message %d is %s", i+1, got)
		}
	}
	if n := way.again.Load(); !way.cut.Load() || n != 1 {
		t.Errorf("the stream was cut: %v, and taken up %d times", way.cut.Load(), n)
	}
}
