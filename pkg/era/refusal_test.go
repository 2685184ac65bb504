package era

import (
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAdmit(t *testing.T) {
	tests := []struct {
		name, meta string
		want       *Refusal
	}{
		{"what every request must say", triple, nil},
		{"its sender may be left out", `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`, nil},
		{"no revision", `"progressToken":1`, &Refusal{Code: -32602, Msg: `_meta lacks "io.modelcontextprotocol/protocolVersion"`}},
		{"no capabilities", `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`,
			&Refusal{Code: -32602, Msg: `_meta lacks "io.modelcontextprotocol/clientCapabilities"`}},
		{"a revision to come", `"io.modelcontextprotocol/protocolVersion":"2027-01-\u0030\u0031"`,
			&Refusal{Code: -32022, Msg: `unsupported protocol version "2027-01-01"`,
				Data: []byte(`{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2027-01-\u0030\u0031"}`)}},
		{"a legacy revision has no requests of this kind", `"io.modelcontextprotocol/protocolVersion":"2025-11-25"`,
			&Refusal{Code: -32022, Msg: `unsupported protocol version "2025-11-25"`,
				Data: []byte(`{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2025-11-25"}`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, `{"id":1,"method":"m","params":{"_meta":{`+tt.meta+`}}}`)
			if diff := cmp.Diff(tt.want, Admit(&env)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorEdit(t *testing.T) {
	tests := []struct{ name, method, in, want string }{
		{"a resource that is not there", "resources/read", `{"code":-32002,"message":"no","data":{"uri":"u"}}`, `{"code":-32602,"message":"no","data":{"uri":"u"}}`},
		{"the same code means something else elsewhere", "tools/call", `{"message":"no", "code" : -32002 }`, `{"message":"no", "code" : -32603 }`},
		{"a page to see where none may be asked for", "tools/list", `{"code":-32042,"message":"m"}`, `{"code":-32603,"message":"m"}`},
		{"any other stays", "resources/read", `{"code":-32601,"message":"m"}`, `{"code":-32601,"message":"m"}`},
		{"zero stays", "tools/call", `{"code":0,"message":"m"}`, `{"code":0,"message":"m"}`},
		{"and what is no code", "tools/call", `{"code":"x","message":"m"}`, `{"code":"x","message":"m"}`},
		{"and what is no object", "tools/call", `"m"`, `"m"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, `{"id":1,"error":`+tt.in+`}`)
			edit, _ := ErrorEdit(&env, tt.method)
			if diff := cmp.Diff(`{"id":1,"error":`+tt.want+`}`, edited(&env, edit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if mcp.CodeURLElicitationRequired != codeURLElicitation || mcp.CodeMissingRequiredClientCapabilities != CodeMissingCapability || mcp.CodeUnsupportedProtocolVersion != CodeUnsupportedVersion {
		t.Error("a code differs from the SDK's")
	}
}

func TestURLQuestions(t *testing.T) {
	tests := []struct {
		name, method, in string
		want             []Ask
	}{
		{"each page is a question", "tools/call",
			`{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a","message":"x"},{"url":"https://b"}]}}`,
			[]Ask{
				{Key: []byte(`"r1"`), Method: "elicitation/create", Params: []byte(`{"mode":"url","elicitationId":"e","url":"https://a","message":"x"}`)},
				{Key: []byte(`"r2"`), Method: "elicitation/create", Params: []byte(`{"url":"https://b","mode":"url"}`)},
			}},
		{"another error asks nothing", "tools/call", `{"code":-32602,"data":{"elicitations":[{}]}}`, nil},
		{"another method may not ask", "tools/list", `{"code":-32042,"data":{"elicitations":[{}]}}`, nil},
		{"no pages", "tools/call", `{"code":-32042,"data":{"elicitations":[]}}`, nil},
		{"no data", "tools/call", `{"code":-32042}`, nil},
		{"pages that are none", "tools/call", `{"code":-32042,"data":{"elicitations":[1]}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, `{"id":1,"error":`+tt.in+`}`)
			got, ok := URLQuestions(&env, tt.method)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != (got != nil) {
				t.Errorf("ok %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestLacks(t *testing.T) {
	ask := func(method, params string) Ask { return Ask{Method: method, Params: []byte(params)} }
	form, url := ask("elicitation/create", `{"message":"m"}`), ask("elicitation/create", `{"mode":"url"}`)
	tests := []struct {
		name, caps string
		ask        Ask
		want       string // data, "" when nothing is lacking
	}{
		{"a form, declared", `{"elicitation":{"form":{}}}`, form, ""},
		{"a form, by declaring no mode", `{"elicitation":{}}`, form, ""},
		{"a form, of one who only shows pages", `{"elicitation":{"url":{}}}`, form, `{"requiredCapabilities":{"elicitation":{"form":{}}}}`},
		{"a form, undeclared", `{}`, form, `{"requiredCapabilities":{"elicitation":{"form":{}}}}`},
		{"a page", `{"elicitation":{"url":{}}}`, url, ""},
		{"a page, of one who only fills in forms", `{"elicitation":{}}`, url, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`},
		{"a null capability is none", `{"elicitation":null}`, url, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`},
		{"sampling", `{"sampling":{}}`, ask("sampling/createMessage", `{}`), ""},
		{"sampling with tools", `{"sampling":{}}`, ask("sampling/createMessage", `{"tools":[]}`), `{"requiredCapabilities":{"sampling":{"tools":{}}}}`},
		{"roots", `{"sampling":{}}`, ask("roots/list", ``), `{"requiredCapabilities":{"roots":{}}}`},
		{"no capabilities at all", ``, ask("roots/list", ``), `{"requiredCapabilities":{"roots":{}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Lacks([]byte(tt.caps), tt.ask)
			if r == nil {
				r = &Refusal{}
			} else if r.Code != CodeMissingCapability {
				t.Errorf("code %d", r.Code)
			}
			if diff := cmp.Diff(tt.want, string(r.Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBare(t *testing.T) {
	tests := []struct{ name, meta, want string }{
		{"the four go and the rest stays", `{` + triple + `,"progressToken":7, "a/b":{"x":1},"io.modelcontextprotocol/logLevel":"debug"}`, `{"progressToken":8, "a/b":{"x":1}}`},
		{"in any order", `{"a":1,` + triple + `,"progressToken":7}`, `{"a":1,"progressToken":8}`},
		{"also null", `{"io.modelcontextprotocol/logLevel":null}`, `{}`},
		{"nothing to go", `{"progressToken":7,"dev.mcpx/workspace":1}`, `{"progressToken":8,"dev.mcpx/workspace":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":`+tt.meta+`,"name":"n"}}`)
			edits := []wire.Edit{{At: env.ID, With: []byte("2")}, {At: env.ProgressToken, With: []byte("8")}}
			got := edited(&env, Bare(edits, &env)...)
			if diff := cmp.Diff(`{"jsonrpc":"2.0","id":2,"method":"m","params":{"_meta":`+tt.want+`,"name":"n"}}`, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	env := scan(t, `{"id":1,"method":"m"}`)
	if got := Bare(nil, &env); got != nil {
		t.Errorf("without _meta: got %v", got)
	}
}
