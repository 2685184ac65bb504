package era

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestInputRequired(t *testing.T) {
	name := Ask{Key: []byte(`"r1"`), Method: "elicitation/create", Params: []byte(`{"message":"Your <name>?","requestedSchema":{"n":9007199254740993}}`)}
	roots := Ask{Key: []byte(`"r\u0032"`), Method: "roots/list"}
	tests := []struct {
		name, state, info, want string
		asks                    []Ask
	}{
		{"a parked question", "mcpx1.aa", info,
			`{"resultType":"input_required","inputRequests":{"r1":{"method":"elicitation/create","params":{"message":"Your <name>?","requestedSchema":{"n":9007199254740993}}}},"requestState":"mcpx1.aa","_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}}`,
			[]Ask{name}},
		{"two, and nothing to remember", "", "",
			`{"resultType":"input_required","inputRequests":{"r1":{"method":"elicitation/create","params":{"message":"Your <name>?","requestedSchema":{"n":9007199254740993}}},"r\u0032":{"method":"roots/list","params":{}}}}`,
			[]Ask{name, roots}},
		{"come again", "s", "", `{"resultType":"input_required","requestState":"s"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var who []byte
			if tt.info != "" {
				who = []byte(tt.info)
			}
			got := InputRequired(tt.asks, tt.state, who)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			asks, state, err := ReadInputRequired("tools/call", got)
			if err != nil {
				t.Fatal(err)
			}
			for i := range asks {
				if string(asks[i].Params) == "{}" {
					asks[i].Params = nil
				}
			}
			if diff := cmp.Diff(tt.asks, asks); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if tt.state != "" && string(state) != `"`+tt.state+`"` {
				t.Errorf("the state came back as %s", state)
			}
			var sdk mcp.CallToolResult
			if err := json.Unmarshal(got, &sdk); err != nil || len(sdk.InputRequests) != len(tt.asks) || sdk.RequestState != tt.state {
				t.Errorf("the SDK reads %d questions, state %q: %v", len(sdk.InputRequests), sdk.RequestState, err)
			}
		})
	}
}

func TestReadInputRequiredRefuses(t *testing.T) {
	var many strings.Builder
	for i := range maxAsks + 1 {
		fmt.Fprintf(&many, `,"k%d":{"method":"roots/list"}`, i)
	}
	tests := []struct{ name, method, in, want string }{
		{"another method", "tools/list", `{"requestState":"s"}`, "tools/list may not be answered with input_required"},
		{"nothing asked and nothing to keep", "tools/call", `{}`, "input_required has neither inputRequests nor requestState"},
		{"nulls are nothing", "tools/call", `{"inputRequests":null,"requestState":null}`, "input_required has neither inputRequests nor requestState"},
		{"a state that is not a string", "tools/call", `{"requestState":{}}`, "requestState is not a string"},
		{"questions in a list", "tools/call", `{"inputRequests":[]}`, "inputRequests is not an object"},
		{"a question of another kind", "prompts/get", `{"inputRequests":{"a":{"method":"tools/call"}}}`, `inputRequests["a"]: the method "tools/call" is not one that a server may ask`},
		{"a question without a method", "prompts/get", `{"inputRequests":{"a":{}}}`, `inputRequests["a"]: the method  is not one that a server may ask`},
		{"a question that is no object", "prompts/get", `{"inputRequests":{"a":7}}`, `inputRequests["a"]: the method  is not one that a server may ask`},
		{"params in a list", "prompts/get", `{"inputRequests":{"a":{"method":"roots/list","params":[]}}}`, `inputRequests["a"]: params is not an object`},
		{"a key twice", "resources/read", `{"inputRequests":{"a":{"method":"roots/list"},"\u0061":{"method":"roots/list"}}}`, `inputRequests has "a" twice`},
		{"too many", "tools/call", `{"inputRequests":{` + many.String()[1:] + `}}`, "inputRequests has more than 64 entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ReadInputRequired(tt.method, []byte(tt.in))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if asks, state, err := ReadInputRequired("tools/call", []byte(`{"inputRequests":{}}`)); asks != nil || state != nil || err != nil {
		t.Errorf("load shedding: got %v %s %v", asks, state, err)
	}
}

func TestRetry(t *testing.T) {
	answers := []Answer{{Key: []byte(`"a"`), Result: []byte(`{"action":"accept","content":{"n":9007199254740993}}`)}, {Key: []byte(`"\u0062"`), Result: []byte(`{"roots":[]}`)}}
	const both = `"inputResponses":{"a":{"action":"accept","content":{"n":9007199254740993}},"\u0062":{"roots":[]}}`
	tests := []struct {
		name, params, state, want string
		answers                   []Answer
	}{
		{"the first params, the answers, the state", `{"name":"t", "arguments":{"z":1e3}}`, `"st\u0061te"`,
			`{"name":"t", "arguments":{"z":1e3},` + both + `,"requestState":"st\u0061te"}`, answers},
		{"no state is none", `{"name":"t"}`, ``, `{"name":"t",` + both + `}`, answers},
		{"no questions were asked", `{"name":"t"}`, `"s"`, `{"name":"t","requestState":"s"}`, nil},
		{"a second round forgets the first", `{"name":"t","inputResponses":{"x":1},"requestState":"old"}`, ``, `{"name":"t",` + both + `}`, answers},
		{"no params", ``, `"s"`, `{"requestState":"s"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var state []byte
			if tt.state != "" {
				state = []byte(tt.state)
			}
			got := Retry([]byte(tt.params), tt.answers, state)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			env := scan(t, `{"id":1,"method":"tools/call","params":`+string(got)+`}`)
			back, text, ok := ReadRetry(&env)
			if diff := cmp.Diff(tt.answers, back); diff != "" || !ok {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if tt.state == `"st\u0061te"` && text != "state" {
				t.Errorf("the state was read as %q", text)
			}
		})
	}
}

func TestFirst(t *testing.T) {
	env := scan(t, `{"id":1,"method":"tools/call","params":{"name":"t","requestState":"s","arguments":{"inputResponses":1},"inputResponses":{"r1":{}},"_meta":{}}}`)
	if got, want := edited(&env, First(nil, &env)...), `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"inputResponses":1},"_meta":{}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	env = scan(t, `{"id":1,"method":"tools/call","params":{"name":"t"}}`)
	if _, _, ok := ReadRetry(&env); ok || First(nil, &env) != nil {
		t.Error("a first request is taken for a retry")
	}
}

func TestClientCapabilities(t *testing.T) {
	tests := []struct {
		name, in, want string
		roots          bool
	}{
		{"what has no meaning goes, the rest stays", `{"roots":{"listChanged":true},"tasks":{"list":{}},"elicitation":{"url":{}}, "x":{"n":1e400}}`,
			`{"roots":{},"elicitation":{"url":{}}, "x":{"n":1e400}}`, true},
		{"no roots to tell of", `{"roots":{},"sampling":{}}`, `{"sampling":{}}`, false},
		{"mcpx answers for a host without roots", `{}`, `{"roots":{}}`, true},
		{"the tasks of the other era", `{"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{}}}`, false},
		{"a host that says nothing", ``, `{}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(ClientCapabilities([]byte(tt.in), tt.roots))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
