package front

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// TestHeadersMustSayWhatTheBodySays holds the rules of the 2026-07-28 transport
// and threat T33.
func TestHeadersMustSayWhatTheBodySays(t *testing.T) {
	h := open(t, false, nil)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"écho",` + meta + `}}`
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b",` + meta + `}}`
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	const encoded = "=?base64?w6ljaG8=?="
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		code       string
	}{
		{"all the same", call, modern("tools/call", "Mcp-Name", encoded), 200, ""},
		{"a list names nothing", list, modern("tools/list"), 200, ""},
		{"a list may name anything", list, modern("tools/list", "Mcp-Name", "x"), 200, ""},
		{"a resource is named by its uri", read, modern("resources/read", "Mcp-Name", "a:b"), 200, ""},
		{"another revision", list, modern("tools/list", "Mcp-Protocol-Version", "2025-11-25"), 400, "-32020"},
		{"no revision", list, []string{"Mcp-Method", "tools/list"}, 400, "-32020"},
		{"another method", list, modern("tools/call"), 400, "-32020"},
		{"a method of other case", list, modern("Tools/List"), 400, "-32020"},
		{"no method", list, []string{"Mcp-Protocol-Version", "2026-07-28"}, 400, "-32020"},
		{"another name", call, modern("tools/call", "Mcp-Name", "echo"), 400, "-32020"},
		{"no name", call, modern("tools/call"), 400, "-32020"},
		{"a name with a header in it", call, modern("tools/call", "Mcp-Name", "=?base64?DQpYOiAx?="), 400, "-32020"},
		{"a name that is no base64", call, modern("tools/call", "Mcp-Name", "=?base64?*?="), 400, "-32020"},
		{"a name that is no text", call, modern("tools/call", "Mcp-Name", "=?base64?/w==?="), 400, "-32020"},
		{"the name in the wrong place", read, modern("resources/read", "Mcp-Name", "b:a"), 400, "-32020"},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{"_meta":{}}}`, modern("x"), 400, "-32600"},
		{"what two decoders read differently", strings.Replace(list, `"id":1`, `"id":1,"ID":2`, 1), modern("tools/list"), 400, "-32600"},
		{"no JSON", "{", modern("tools/list"), 400, "-32700"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := h.entered()
			status, text := h.says("POST", "/mcp/srv", tt.body, tt.headers...)
			if status != tt.status || !strings.Contains(text, tt.code) {
				t.Errorf("got %d %s, want %d and %s", status, text, tt.status, tt.code)
			}
			if entered := h.entered() > before; entered != (tt.status == 200) {
				t.Errorf("a session was opened: %v", entered)
			}
		})
	}
}

func TestHeadersRepeatArguments(t *testing.T) {
	h := open(t, false, nil)
	for _, tt := range []struct {
		name, arguments string
		headers         []string
		status          int
	}{
		{"both", `{"region":"eu","n":42}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-N", "42"}, 200},
		{"in base64", `{"region":"é"}`, []string{"Mcp-Param-Region", "=?base64?w6k=?="}, 200},
		{"a number, written otherwise", `{"n":42}`, []string{"Mcp-Param-N", "42.0"}, 200},
		{"none that there are", `{"region":null}`, nil, 200},
		{"one that nobody asked for", `{}`, []string{"Mcp-Param-Other", "x"}, 200},
		{"another value", `{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, 400},
		{"a missing one", `{"region":"eu"}`, nil, 400},
		{"one too many", `{}`, []string{"Mcp-Param-Region", "eu"}, 400},
		{"base64 that is cut", `{"region":"Hello"}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8?="}, 400},
	} {
		body := ask(1, "tools/call", `"name":"t","arguments":`+tt.arguments+`,`+meta)
		status, text := h.says("POST", "/mcp/srv", body, modern("tools/call", append(tt.headers, "Mcp-Name", "t")...)...)
		if status != tt.status || status == 400 && !strings.Contains(text, "-32020") {
			t.Errorf("%s: %d %s, want %d", tt.name, status, text, tt.status)
		}
		host := <-h.hosts
		host.gone(t, tt.name)
		if called := len(host.lines) > 0; called != (tt.status == 200) {
			t.Errorf("%s: it was called: %v", tt.name, called)
		}
	}
}

func TestErrorsOfTheModernEraAreStatuses(t *testing.T) {
	codes := map[string]int{"-32601": 404, "-32602": 400, "-32021": 400, "-32022": 400, "-32603": 200, "7": 200}
	h := open(t, false, func(h *fakeHost, env *wire.Envelope) {
		h.says(`{"jsonrpc":"2.0","id":1,"error":{"code":%s,"message":"m"}}`, env.Text(env.Name))
	})
	for code, want := range codes {
		body := `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"` + code + `",` + meta + `}}`
		if status, text := h.says("POST", "/mcp/srv", body, modern("prompts/get", "Mcp-Name", code)...); status != want || !strings.Contains(text, code) {
			t.Errorf("%s: %d %s, want %d", code, status, text, want)
		}
	}
}

// FuzzRequest: a body becomes one line that means the same, or is refused; and no
// header makes a modern request be taken for another one.
func FuzzRequest(f *testing.F) {
	f.Add("{\r\n \"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"_meta\":{}}}", "2026-07-28", "tools/call", "a", "/home")
	f.Add(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`, "", "", "=?base64?YQ==?=", "=?base64?L2E=?=")
	f.Add("\n", "x", "=?base64?", "\x00", "~")
	f.Fuzz(func(t *testing.T, text, version, method, name, cwd string) {
		h := http.Header{headerVersion: {version}, headerMethod: {method}, headerName: {name}, headerCwd: {cwd}}
		if w, err := identify("srv", h); err == nil && !strings.HasPrefix(w.cwd, "/") {
			t.Errorf("the directory is %q", w.cwd)
		}
		b, err := parse([]byte(text))
		if err != nil {
			return
		}
		if strings.ContainsAny(string(b.line), "\r\n") {
			t.Errorf("more than one line: %q", b.line)
		}
		if want := strings.Trim(strings.NewReplacer("\r", " ", "\n", " ").Replace(text), " \t"); string(b.line) != want {
			t.Errorf("%q became %q", text, b.line)
		}
		if len(b.messages) == 0 || len(b.requests) > len(b.messages) {
			t.Fatalf("%d messages, %d requests", len(b.messages), len(b.requests))
		}
		env := &b.messages[0]
		if !b.batch && isModern(h, &b) && mirrors(h, env) == nil {
			got, _ := decodeValue(method)
			if got != env.Text(env.Method) {
				t.Errorf("header %q was let in for body %q", method, env.Text(env.Method))
			}
			if v, _ := decodeValue(version); v != env.Text(env.ProtocolVersion) && era.Admit(env) == nil {
				t.Errorf("revision %q was let in for %q", version, env.Text(env.ProtocolVersion))
			}
		}
	})
}
