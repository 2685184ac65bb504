package front

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/wire"
)

const again = 10 * time.Second // bounds a wait for what comes by itself

func (h *fakeHost) gone(t *testing.T, what string) {
	t.Helper()
	select {
	case <-h.ended:
	case <-time.After(again):
		t.Fatalf("%s: the connection did not end", what)
	}
}

func (h *fakeHost) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-h.lines:
		return line
	case <-time.After(again):
		t.Fatal("no line came")
		return ""
	}
}

func ask(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params)
}

func TestAnAnswerAloneIsJSONAndWithMoreAStream(t *testing.T) {
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		if env.Text(env.Name) == "more" {
			h.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
		}
		echo(h, env)
	})
	id, _ := h.session()
	in := []string{headerSession, id}
	status, text := h.says("POST", "/mcp/srv", ask(1, "tools/call", `"name":"less","f":2.50`), in...)
	if want := `{"jsonrpc":"2.0","id":1,"result":{"name":"less","f":2.50}}`; status != 200 || text != want {
		t.Errorf("got %d %s, want %s", status, text, want)
	}
	e := h.events(h.send("POST", "/mcp/srv", ask(2, "tools/call", `"name":"more","_meta":{"progressToken":"t"}`), in...))
	if first, data := e.next(); first == "" || data != "" {
		t.Errorf("the stream begins with id %q and %q, want a place and nothing", first, data)
	}
	_, one := e.next()
	_, two := e.next()
	_, end := e.next()
	if !strings.Contains(one, "progress") || !strings.Contains(two, `"result"`) || end != "" {
		t.Errorf("the stream was %s\n%s\n%s", one, two, end)
	}
}

func TestASessionOverHTTP(t *testing.T) {
	h := open(t, false, nil)
	id, host := h.session("X-Mcpx-Cwd", "/tmp/a", "X-Mcpx-Session", "s", "X-Mcpx-Parent", "p")
	if f := host.hello.Flags; f.Cwd != "/tmp/a" || f.Session != "s" || f.Parent != "p" || host.hello.Server != "srv" || host.single {
		t.Errorf("it was opened with %+v", host.hello)
	}
	mine := []string{headerSession, id, "X-Mcpx-Cwd", "/tmp/a", "X-Mcpx-Session", "s", "X-Mcpx-Parent", "p", "Mcp-Protocol-Version", "2025-11-25"}
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		want                     int
	}{
		{"a notification", "POST", "/mcp/srv", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, mine, 202},
		{"a response", "POST", "/mcp/srv", `{"jsonrpc":"2.0","id":"x","result":{}}`, mine, 202},
		{"a request", "POST", "/mcp/srv", ask(3, "ping", ""), mine, 200},
		{"without a session", "POST", "/mcp/srv", ask(3, "ping", ""), nil, 400},
		{"an unknown session", "POST", "/mcp/srv", ask(3, "ping", ""), []string{headerSession, "no"}, 404},
		{"of another server", "POST", "/mcp/other", ask(3, "ping", ""), mine, 404},
		{"of a host that moved", "POST", "/mcp/srv", ask(3, "ping", ""), append(mine[:2:2], "X-Mcpx-Cwd", "/tmp/b", "X-Mcpx-Session", "s", "X-Mcpx-Parent", "p"), 404},
		{"a batch, in a revision without", "POST", "/mcp/srv", "[" + ask(3, "ping", "") + "]", mine, 400},
		{"a revision of nobody's", "POST", "/mcp/srv", ask(3, "ping", ""), append(mine[:8:8], "Mcp-Protocol-Version", "x"), 400},
		{"to listen without a session", "GET", "/mcp/srv", "", nil, 405},
		{"to end none", "DELETE", "/mcp/srv", "", nil, 405},
		{"to listen in an unknown session", "GET", "/mcp/srv", "", []string{headerSession, "no"}, 404},
		{"to go on with no stream", "GET", "/mcp/srv", "", append(mine, "Last-Event-Id", "x-1"), 400},
		{"the end", "DELETE", "/mcp/srv", "", mine, 204},
		{"after the end", "POST", "/mcp/srv", ask(3, "ping", ""), mine, 404},
		{"a second end", "DELETE", "/mcp/srv", "", mine, 404},
	} {
		if status, text := h.says(tt.method, tt.path, tt.body, tt.headers...); status != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.name, status, text, tt.want)
		}
	}
	host.gone(t, "DELETE")
}

func TestBatchesOfOldHostsAreAnsweredWhole(t *testing.T) {
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		if env.Text(env.Method) == "initialize" {
			h.says(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26"}}`)
		}
	})
	id, host := h.session()
	go func() {
		<-host.lines
		host.says(`[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]`)
	}()
	status, text := h.says("POST", "/mcp/srv", "["+ask(1, "ping", "")+","+ask(2, "ping", "")+`,{"jsonrpc":"2.0","method":"n"}]`, headerSession, id)
	if want := `[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]`; status != 200 || text != want {
		t.Errorf("got %d %s", status, text)
	}
}

func TestAStreamThatBrokeOffIsTakenUp(t *testing.T) {
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		if env.Text(env.Method) == "initialize" {
			echo(h, env)
		}
	})
	id, host := h.session()
	go func() {
		host.line(t)
		host.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`)
	}()
	answer := h.send("POST", "/mcp/srv", ask(1, "tools/call", `"name":"x"`), headerSession, id)
	e := h.events(answer)
	e.next()
	last, data := e.next()
	if !strings.Contains(data, `"data":1`) {
		t.Fatalf("got %q", data)
	}
	_ = answer.Body.Close()
	host.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":2}}`)
	host.says(`{"jsonrpc":"2.0","id":1,"result":{"done":true}}`)
	for range 2 { // a host that lost the second one, too
		e = h.events(h.send("GET", "/mcp/srv", "", headerSession, id, "Last-Event-Id", last))
		e.next()
		_, two := e.next()
		_, three := e.next()
		_, end := e.next()
		if !strings.Contains(two, `"data":2`) || !strings.Contains(three, `"done":true`) || end != "" {
			t.Errorf("after %s came %s\n%s\n%s", last, two, three, end)
		}
	}
}

func TestWhatIsSaidUnaskedWaitsForWhoListens(t *testing.T) {
	h := open(t, false, nil)
	id, host := h.session()
	host.says(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	for i := range 3 {
		host.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d,"text":"%s"}}`, i, strings.Repeat("x", maxKept/2))
	}
	answer := h.send("GET", "/mcp/srv", "", headerSession, id)
	e := h.events(answer)
	e.next()
	_, one := e.next()
	_, two := e.next()
	if !strings.Contains(one, "list_changed") || !strings.Contains(two, `"n":0`) {
		t.Errorf("got %.80s and %.80s", one, two)
	}
	if status, _ := h.says("GET", "/mcp/srv", "", headerSession, id); status != 409 {
		t.Errorf("a second one who listens: %d", status)
	}
	host.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":9}}`)
	if _, three := e.next(); !strings.Contains(three, `"n":9`) {
		t.Errorf("what did not fit was kept all the same: %.80s", three)
	}
	_ = answer.Body.Close()
}

// A question that came while nobody listened is put with the next answer.
func TestAQuestionFindsAHostThatDoesNotListen(t *testing.T) {
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		if env.Text(env.Method) == "initialize" {
			echo(h, env)
		}
	})
	id, host := h.session()
	host.says(`{"jsonrpc":"2.0","id":"mcpx-e-1","method":"roots/list"}`)
	e := h.events(h.send("POST", "/mcp/srv", ask(1, "tools/call", ""), headerSession, id))
	e.next()
	if _, data := e.next(); !strings.Contains(data, "roots/list") {
		t.Fatalf("got %s", data)
	}
	host.line(t)
	if status, _ := h.says("POST", "/mcp/srv", `{"jsonrpc":"2.0","id":"mcpx-e-1","result":{"roots":[]}}`, headerSession, id); status != 202 {
		t.Errorf("the answer: %d", status)
	}
	if line := host.line(t); !strings.Contains(line, `"roots":[]`) {
		t.Errorf("the connection read %s", line)
	}
	host.says(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if _, data := e.next(); !strings.Contains(data, `"result"`) {
		t.Errorf("then %s", data)
	}
}

func TestWhatACancelledRequestWaitsForEnds(t *testing.T) {
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		if env.Text(env.Method) == "initialize" {
			echo(h, env)
		}
	})
	id, host := h.session()
	done := make(chan string)
	go func() {
		_, text := h.says("POST", "/mcp/srv", ask(1, "tools/call", ""), headerSession, id)
		done <- text
	}()
	host.line(t)
	if status, _ := h.says("POST", "/mcp/srv", ask(1, "ping", ""), headerSession, id); status != 400 {
		t.Errorf("the same id meanwhile: %d", status)
	}
	h.says("POST", "/mcp/srv", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, headerSession, id)
	if text := <-done; strings.Contains(text, "result") {
		t.Errorf("it was answered %s", text)
	}
}

func TestASessionThatIsNotUsedEnds(t *testing.T) {
	h := open(t, false, nil)
	id, host := h.session()
	answer := h.send("GET", "/mcp/srv", "", headerSession, id)
	h.front.sweep(time.Now().Add(sessionIdle + time.Hour)) // it is used: somebody listens
	if status, _ := h.says("POST", "/mcp/srv", ask(1, "ping", ""), headerSession, id); status != 200 {
		t.Errorf("with a listener: %d", status)
	}
	_ = answer.Body.Close()
	for until := time.Now().Add(again); ; <-time.After(time.Millisecond) {
		h.front.sweep(time.Now().Add(sessionIdle + time.Hour))
		select {
		case <-host.ended:
			return
		default:
		}
		if time.Now().After(until) {
			t.Fatal("it did not end")
		}
	}
}

// A line of a server's may have a CR between two tokens, which ends a line of an
// event stream.
func TestNoLineBreaksAStream(t *testing.T) {
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		h.says(`{"jsonrpc":"2.0","method":"notifications/x"}`)
		_ = h.out.Write([]byte("{\"jsonrpc\":\"2.0\",\r\"id\":1,\"result\":{\"a\":\"\\r\u2028\"}}\n"))
	})
	e := h.events(h.send("POST", "/mcp/srv", ask(1, "tools/list", meta), modern("tools/list")...))
	_, _ = e.next()
	if _, data := e.next(); data != "{\"jsonrpc\":\"2.0\", \"id\":1,\"result\":{\"a\":\"\\r\u2028\"}}" {
		t.Errorf("got %q", data)
	}
}
