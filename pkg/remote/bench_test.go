package remote

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// BenchmarkCall compares a call through mux and a Conn with the bare request that
// it comes to.
func BenchmarkCall(b *testing.B) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"id":`)
		id, _, _ := strings.Cut(rest, ",")
		result := `{"content":[{"type":"text","text":"done"}]}`
		if r.Header.Get(headerMethod) == "server/discover" {
			result = `{"supportedVersions":["2026-07-28"],"capabilities":{}}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`)
	}
	web := httptest.NewServer(http.HandlerFunc(answer))
	b.Cleanup(web.Close)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			resp, err := http.Post(web.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
	c, err := Dial(b.Context(), spawn.Plan{Server: "srv", URL: web.URL}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	m := mux.New(c, mux.Options{Server: "srv"})
	b.Cleanup(func() {
		_ = c.Stop(context.Background())
		<-m.Done()
	})
	b.Run("through", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Call(b.Context(), "tools/call", []byte(`{"name":"echo"}`)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
