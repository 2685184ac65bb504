package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

type deaf struct{}

func (deaf) Response(string, []byte)                   {}
func (deaf) Notification(string, []byte)               {}
func (deaf) Ask(string, *mux.Question, *wire.Envelope) {}
func (deaf) Withdraw(*mux.Question, *wire.Envelope)    {}

// TestAListenIsBegunAnewAtOnce: over HTTP the end of its stream is all there is
// of a listen's end, and who waits for it must not wait in vain.
func TestAListenIsBegunAnewAtOnce(t *testing.T) {
	var all, pages atomic.Int64
	server := sdkHandlers()["modern"]
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			all.Add(1)
			if bytes.Contains(body, []byte(`"resourceSubscriptions":["res://page"]`)) {
				pages.Add(1)
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c, err := Dial(t.Context(), spawn.Plan{Server: "sdk", URL: web.URL}, Options{Eras: verdicts{}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Handshake().Era != upstream.Modern {
		t.Fatal("the server is not modern")
	}
	m := mux.New(c, mux.Options{Server: "sdk"})
	defer func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		<-m.Done()
	}()
	eventually(t, "the first listen", func() bool { return all.Load() == 1 })
	began := time.Now()
	p := m.Attach(deaf{}, "")
	p.Replay("", []string{"res://page"})
	eventually(t, "the second listen", func() bool { return pages.Load() == 1 })
	if took := time.Since(began); took > 4*time.Second { // 5 s are given to a server that says nothing
		t.Errorf("the second listen took %v", took)
	}
	if got := c.Trouble(); got != "" {
		t.Errorf("status would say %q", got)
	}
}
