package remote

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// TestAListenIsOneLongRequest: it lasts while it is wanted, brings what the server
// says, and its end is told to whoever waits for it.
func TestAListenIsOneLongRequest(t *testing.T) { // protocol W8
	s := newWeb(t, upstream.Modern)
	closed := make(chan struct{})
	s.set(only("subscriptions/listen", func(w http.ResponseWriter, r *request) {
		stream(w, ": alive\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		for {
			if _, err := w.Write([]byte(":\n\n")); err != nil || http.NewResponseController(w).Flush() != nil {
				close(closed)
				return
			}
			select {
			case <-time.After(time.Millisecond):
			case <-t.Context().Done():
				return
			}
		}
	}))
	k := dial(t, s.plan(), Options{})
	id, answer := k.start("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	for _, want := range []string{"acknowledged", "tools/list_changed"} {
		if got := k.await(k.notes, want); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := k.Write(wire.AppendNotification(nil, "notifications/cancelled", []byte(`{"requestId":`+id+`}`))); err != nil {
		t.Fatal(err)
	}
	if got := k.await(answer, "the end"); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("got %s", got)
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("the stream stays open")
	}
}

// TestARealModernServerTellsOfChanges goes through mux and go-sdk.
func TestARealModernServerTellsOfChanges(t *testing.T) {
	sdk := sdkServer()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	c, err := Dial(t.Context(), spawn.Plan{Server: "sdk", URL: web.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := mux.New(c, mux.Options{Server: "sdk"})
	t.Cleanup(func() {
		_ = c.Stop(context.Background())
		<-m.Done()
	})
	told := make(chan string, 100)
	m.OnListChanged(func(kind string) { told <- kind })
	port := m.Attach(quiet{}, "")
	defer port.Detach()
	for late := time.After(patience); ; {
		mcp.AddTool(sdk, &mcp.Tool{Name: "late"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		select {
		case kind := <-told:
			if kind != "tools" {
				t.Errorf("%s have changed", kind)
			}
			return
		case <-time.After(50 * time.Millisecond): // nobody may have listened yet
		case <-late:
			t.Fatal("nothing was told")
		}
	}
}

// quiet is a session that hears nothing.
type quiet struct{}

func (quiet) Response(string, []byte)                   {}
func (quiet) Notification(string, []byte)               {}
func (quiet) Ask(string, *mux.Question, *wire.Envelope) {}
func (quiet) Withdraw(*mux.Question, *wire.Envelope)    {}

// TestNothingIsLeftBehind: whatever a server does, a connection that has ended
// leaves no goroutine, and no connection of the network.
func TestNothingIsLeftBehind(t *testing.T) {
	faults := []func(w http.ResponseWriter, r *request){
		func(w http.ResponseWriter, _ *request) { w.WriteHeader(http.StatusInternalServerError) },
		func(w http.ResponseWriter, _ *request) { stream(w, "data: half") },
		func(w http.ResponseWriter, r *request) { stream(w, ":\n\n"); <-r.Gone },
		func(_ http.ResponseWriter, r *request) { <-r.Gone },
		func(w http.ResponseWriter, _ *request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		},
	}
	s := newWeb(t, upstream.Legacy)
	p := s.plan()
	one := func(i int) {
		s.set(nil)
		c, err := Dial(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = c.Serve(func(*wire.Envelope) {})
		}()
		s.set(func(w http.ResponseWriter, r *request) bool {
			if r.Verb == "DELETE" {
				return false
			}
			faults[i%len(faults)](w, r)
			return true
		})
		before := len(s.asked("tools/call"))
		for n := range 5 {
			_ = c.Write(wire.AppendRequest(nil, strconv.AppendInt(nil, int64(n), 10), "tools/call", []byte("{}")))
		}
		eventually(t, "a call is under way", func() bool { return len(s.asked("tools/call")) > before })
		_ = c.Stop(context.Background())
		<-served
	}
	for i := range len(faults) {
		one(i) // what the packages make once
	}
	s.CloseClientConnections()
	base := runtime.NumGoroutine()
	for i := range 50 {
		one(i)
	}
	s.CloseClientConnections()
	eventually(t, "as few goroutines as before", func() bool { return runtime.NumGoroutine() <= base+5 })
}
