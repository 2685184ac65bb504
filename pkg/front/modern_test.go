package front

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/gate"
	"github.com/dezren39/mcpx/pkg/wire"
)

func TestEachRequestIsAConnectionOfItsOwn(t *testing.T) {
	h := open(t, false, nil)
	for range 2 {
		if status, text := h.says("POST", "/mcp/srv", ask(1, "tools/list", meta), modern("tools/list")...); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		host := <-h.hosts
		if !host.single {
			t.Error("it is one of a session")
		}
		host.gone(t, "an answered request")
	}
}

func TestRequestsThatNameASessionShareAConnection(t *testing.T) {
	h := open(t, false, nil)
	say := func(path, session, cwd string) {
		t.Helper()
		if status, text := h.says("POST", path, ask(1, "tools/list", meta), modern("tools/list", "X-Mcpx-Session", session, "X-Mcpx-Cwd", cwd)...); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	say("/mcp/srv", "s", "/a")
	say("/mcp/srv", "s", "/a")
	if n := h.entered(); n != 1 {
		t.Fatalf("two requests of one session are %d connections", n)
	}
	say("/mcp/srv", "s", "/b") // it moved
	say("/mcp/srv", "t", "/a")
	say("/mcp", "s", "/a")
	if n := h.entered(); n != 4 {
		t.Errorf("another place, session and server make %d connections in all, want 4", n)
	}
}

// Clients of one session do not know of each other's ids.
func TestTwoRequestsOfOneIDInASessionAreToldApart(t *testing.T) {
	h := open(t, false, func(*fakeHost, *wire.Envelope) {})
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			_, text := h.says("POST", "/mcp/srv", ask(1, "tools/list", meta), modern("tools/list", "X-Mcpx-Session", "s")...)
			answers <- text
		}()
	}
	one := <-h.hosts
	one.line(t)
	two := <-h.hosts
	two.line(t)
	for name, host := range map[string]*fakeHost{"one": one, "two": two} {
		host.says(`{"jsonrpc":"2.0","id":1,"result":{"from":%q}}`, name)
	}
	if got := <-answers + <-answers; strings.Count(got, "one") != 1 || strings.Count(got, "two") != 1 {
		t.Errorf("got %s", got)
	}
}

func TestWhoHangsUpCancels(t *testing.T) {
	h := open(t, false, func(*fakeHost, *wire.Envelope) {})
	hangUp := func(headers ...string) *fakeHost {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "POST", "http://127.0.0.1:"+h.port+"/mcp/srv", strings.NewReader(ask(7, "tools/list", meta)))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = http.DefaultTransport.RoundTrip(r)
		}()
		host := <-h.hosts
		host.line(t)
		cancel()
		<-over
		return host
	}
	hangUp().gone(t, "a request of its own")
	host := hangUp("X-Mcpx-Session", "s")
	if line := host.line(t); !strings.Contains(line, "notifications/cancelled") || !strings.Contains(line, `"requestId":7`) {
		t.Errorf("the session's connection read %s", line)
	}
	select {
	case <-host.ended:
		t.Error("the whole session ended")
	default:
	}
}

// TestAQuestionInAnAnswerComesBackToWhoAsked: a request that mcpx has parked is
// taken up by the connection that has it, for nobody but the one who was asked.
func TestAQuestionInAnAnswerComesBackToWhoAsked(t *testing.T) {
	states := 0
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		if env.RequestState.Empty() {
			states++
			h.says(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"mcpx1.%d"}}`, states)
			return
		}
		h.says(`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}`)
	})
	call := func(id int, state string, more ...string) {
		t.Helper()
		params := meta
		if state != "" {
			params += `,"requestState":"` + state + `"`
		}
		if status, text := h.says("POST", "/mcp/srv", ask(id, "tools/list", params), modern("tools/list", more...)...); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	call(1, "")
	first := <-h.hosts
	call(1, "")
	second := <-h.hosts
	first.line(t)
	second.line(t)
	call(2, "mcpx1.2")
	if line := second.line(t); !strings.Contains(line, "mcpx1.2") || h.entered() != 0 {
		t.Errorf("the second connection read %s", line)
	}
	second.gone(t, "the one that has its answer")
	call(2, "mcpx1.1", "X-Mcpx-Cwd", "/elsewhere") // says other of itself
	other := <-h.hosts
	other.line(t)
	call(2, "mcpx1.1")
	first.line(t)
	first.gone(t, "the other")
	call(2, "mcpx1.1") // has been used
	if (<-h.hosts).line(t); h.entered() != 0 {
		t.Error("more connections than requests")
	}
}

// TestTheSlowHoldUpNobody: threat T33's hundred clients that never finish their
// headers, and as many that never send the body they announced.
func TestTheSlowHoldUpNobody(t *testing.T) {
	h := open(t, true, nil)
	for i := range 200 {
		c, err := net.Dial("tcp", "127.0.0.1:"+h.port)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		text := "POST /mcp/srv HTTP/1.1\r\nHost: "
		if i%2 == 0 {
			text = fmt.Sprintf("POST /mcp/srv HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: 60000000\r\n\r\n{", h.port, token)
		}
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if status, text := h.says("POST", "/mcp/srv", ask(1, "tools/list", meta), modern("tools/list")...); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if took := time.Since(began); took > gate.HeaderWait {
		t.Errorf("it took %v: it waited for them", took)
	}
}
