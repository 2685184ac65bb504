package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found is an Envelope in words: its kind, and the members by name.
func found(e *Envelope) map[string]string {
	all := map[string]string{"kind": [...]string{"invalid", "request", "notification", "result", "error"}[e.Kind]}
	for name, at := range map[string]Span{
		"id": e.ID, "method": e.Method, "params": e.Params, "result": e.Result, "error": e.Error,
		"meta": e.Meta, "name": e.Name, "uri": e.URI, "cursor": e.Cursor, "requestId": e.RequestID, "token": e.Token,
		"taskId": e.TaskID, "task": e.Task, "level": e.Level, "elicitationId": e.ElicitationID,
		"requestState": e.RequestState, "ref": e.Ref, "ref.name": e.RefName, "ref.uri": e.RefURI,
		"progressToken": e.ProgressToken, "protocolVersion": e.ProtocolVersion, "clientInfo": e.ClientInfo,
		"clientCapabilities": e.ClientCapabilities, "logLevel": e.LogLevel, "subscriptionId": e.SubscriptionID,
		"relatedTaskId": e.RelatedTaskID, "workspace": e.Workspace, "resultType": e.ResultType,
	} {
		if !at.Empty() {
			all[name] = string(e.Bytes(at))
		}
	}
	return all
}

type members = map[string]string

func TestScanFindsTheEnvelope(t *testing.T) {
	tests := []struct {
		name string
		line string
		want members
	}{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			members{"kind": "request", "id": `1`, "method": `"ping"`}},
		{"members in any order, with space", " {\t\"method\" : \"ping\" ,\r\n \"id\":\"a\" } ",
			members{"kind": "request", "id": `"a"`, "method": `"ping"`}},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			members{"kind": "notification", "method": `"notifications/initialized"`}},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{"x":[]}}`,
			members{"kind": "result", "id": `1`, "result": `{"x":[]}`}},
		{"a result that is null", `{"jsonrpc":"2.0","id":1,"result":null}`,
			members{"kind": "result", "id": `1`, "result": `null`}},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":0}}`,
			members{"kind": "error", "id": `1`, "error": `{"code":0}`}},
		{"an error for nobody", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`,
			members{"kind": "error", "error": `{"code":-32700}`}},
		{"a result with the error spelt out", `{"id":1,"result":{},"error":null}`,
			members{"kind": "result", "id": `1`, "result": `{}`}},
		{"an error with the result spelt out", `{"id":1,"result":null,"error":{}}`,
			members{"kind": "error", "id": `1`, "error": `{}`}},
		{"null members are absent", `{"id":1,"method":"m","params":{"cursor":null,"name":null,"_meta":{"progressToken":null}}}`,
			members{"kind": "request", "id": `1`, "method": `"m"`, "params": `{"cursor":null,"name":null,"_meta":{"progressToken":null}}`, "meta": `{"progressToken":null}`}},
		{"null objects are kept", `{"id":1,"method":"m","params":null}`,
			members{"kind": "request", "id": `1`, "method": `"m"`, "params": `null`}},
		{"an id of many digits", `{"id":` + strings.Repeat("9", 300) + `,"method":"m"}`,
			members{"kind": "request", "id": strings.Repeat("9", 300), "method": `"m"`}},
		{"what a call is about", `{"id":1,"method":"tools/call","params":{"name":"n","uri":"u","cursor":"c","taskId":"t","task":{"ttl":1},"level":"info","requestState":"s","elicitationId":"e","arguments":{"name":"other"}}}`,
			members{"kind": "request", "id": `1`, "method": `"tools/call"`,
				"params": `{"name":"n","uri":"u","cursor":"c","taskId":"t","task":{"ttl":1},"level":"info","requestState":"s","elicitationId":"e","arguments":{"name":"other"}}`,
				"name":   `"n"`, "uri": `"u"`, "cursor": `"c"`, "taskId": `"t"`, "task": `{"ttl":1}`, "level": `"info"`, "requestState": `"s"`, "elicitationId": `"e"`}},
		{"what a completion is about", `{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"n","uri":"u"}}}`,
			members{"kind": "request", "id": `1`, "method": `"completion/complete"`, "params": `{"ref":{"type":"ref/prompt","name":"n","uri":"u"}}`,
				"ref": `{"type":"ref/prompt","name":"n","uri":"u"}`, "ref.name": `"n"`, "ref.uri": `"u"`}},
		{"what a notification is about", `{"method":"notifications/x","params":{"requestId":7,"progressToken":"t"}}`,
			members{"kind": "notification", "method": `"notifications/x"`, "params": `{"requestId":7,"progressToken":"t"}`, "requestId": `7`, "token": `"t"`}},
		{"the modern _meta", `{"id":1,"method":"m","params":{"_meta":{"progressToken":1.5,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"a":1},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/related-task":{"taskId":"t"},"dev.mcpx/workspace":[]}}}`,
			members{"kind": "request", "id": `1`, "method": `"m"`,
				"params":        `{"_meta":{"progressToken":1.5,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"a":1},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/related-task":{"taskId":"t"},"dev.mcpx/workspace":[]}}`,
				"meta":          `{"progressToken":1.5,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"a":1},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/related-task":{"taskId":"t"},"dev.mcpx/workspace":[]}`,
				"progressToken": `1.5`, "protocolVersion": `"2026-07-28"`, "clientInfo": `{}`, "clientCapabilities": `{"a":1}`, "logLevel": `"debug"`, "relatedTaskId": `"t"`, "workspace": `[]`}},
		{"the _meta of a result", `{"id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":3}}}`,
			members{"kind": "result", "id": `1`, "result": `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":3}}`,
				"meta": `{"io.modelcontextprotocol/subscriptionId":3}`, "resultType": `"complete"`, "subscriptionId": `3`}},
		{"nothing in what is not a decision", `{"id":1,"result":{"name":"a","Name":"b","name":"c","uri":1,"params":{"id":2}},"x":{"id":3},"x":4}`,
			members{"kind": "result", "id": `1`, "result": `{"name":"a","Name":"b","name":"c","uri":1,"params":{"id":2}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := Scan([]byte(tt.line))
			if err != nil {
				t.Fatalf("Scan(%s): %v", tt.line, err)
			}
			if diff := cmp.Diff(tt.want, found(&env)); diff != "" {
				t.Errorf("Scan(%s) (-want +got):\n%s", tt.line, diff)
			}
		})
	}
}

func TestScanSaysWhatToAnswer(t *testing.T) {
	deep := strings.Repeat(`[`, MaxDepth) + strings.Repeat(`]`, MaxDepth)
	tests := []struct {
		name string
		line string
		want ScanError
	}{
		{"text", "starting server…", ScanError{Code: CodeParse, Msg: "not valid JSON at byte 0"}},
		{"nothing", "", ScanError{Code: CodeParse, Msg: "not valid JSON at byte 0"}},
		{"a broken object", `{bad`, ScanError{Code: CodeParse, Msg: "not valid JSON at byte 1"}},
		{"a broken request with an id", `{"id":7,"method":"m","params":{"a":tru}}`,
			ScanError{Code: CodeParse, ID: []byte("7"), Msg: "not valid JSON at byte 35"}},
		{"a broken response with its id last", "{\"result\":\"\xff\",\"jsonrpc\":\"2.0\",\"id\":7}",
			ScanError{Code: CodeParse, ResponseID: []byte("7"), Msg: "not valid UTF-8"}},
		{"two values", `{"id":1,"method":"m"} {}`, ScanError{Code: CodeParse, ID: []byte("1"), Msg: "not valid JSON at byte 22"}},
		{"too deep", `{"id":1,"method":"m","params":{"a":` + deep + `}}`, ScanError{Code: CodeParse, ID: []byte("1"), Msg: "nested deeper than 512 levels"}},
		{"a number", `42`, ScanError{Code: CodeInvalid, NoID: true, Msg: "not a JSON object"}},
		{"a batch", `[{"id":1,"method":"m"}]`, ScanError{Code: CodeInvalid, NoID: true, Msg: "not a JSON object"}},
		{"an empty object", `{}`, ScanError{Code: CodeInvalid, NoID: true, Msg: "neither a method nor a result nor an error"}},
		{"an id alone", `{"id":1}`, ScanError{Code: CodeInvalid, ID: []byte("1"), Msg: "neither a method nor a result nor an error"}},
		{"an empty method", `{"id":1,"method":""}`, ScanError{Code: CodeInvalid, ID: []byte("1"), Msg: `"method" is empty`}},
		{"a method that is no text", `{"id":1,"method":["m"]}`, ScanError{Code: CodeInvalid, ID: []byte("1"), Msg: `"method" is not a string`}},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"m"}`, ScanError{Code: CodeInvalid, ID: []byte("1"), Msg: `"jsonrpc" is not "2.0"`}},
		{"params in an array", `{"id":1,"method":"m","params":[]}`, ScanError{Code: CodeInvalid, ID: []byte("1"), Msg: `"params" is not an object`}},
		{"a request with the id null", `{"id":null,"method":"m"}`, ScanError{Code: CodeInvalid, NoID: true, Msg: `"id" is neither a string nor an integer`}},
		{"a fraction as id", `{"id":1.5,"method":"m"}`, ScanError{Code: CodeInvalid, ID: []byte("1.5"), Msg: `"id" is neither a string nor an integer`}},
		{"an exponent as id", `{"id":1e3,"method":"m"}`, ScanError{Code: CodeInvalid, ID: []byte("1e3"), Msg: `"id" is neither a string nor an integer`}},
		{"an object as id", `{"id":{},"method":"m"}`, ScanError{Code: CodeInvalid, NoID: true, Msg: `"id" is neither a string nor a number`}},
		{"an array as id", `{"id":[1],"method":"m"}`, ScanError{Code: CodeInvalid, NoID: true, Msg: `"id" is neither a string nor a number`}},
		{"a boolean as id", `{"id":true,"method":"m"}`, ScanError{Code: CodeInvalid, NoID: true, Msg: `"id" is neither a string nor a number`}},
		{"half a surrogate pair as id", `{"id":"\ud800","method":"m"}`, ScanError{Code: CodeInvalid, NoID: true, Msg: `"id" has a NUL or half a surrogate pair in it`}},
		{"a result without an id", `{"result":{}}`, ScanError{Code: CodeInvalid, Msg: "a response without an id"}},
		{"a result for null", `{"id":null,"result":{}}`, ScanError{Code: CodeInvalid, Msg: `"id" is neither a string nor an integer`}},
		{"a result and an error", `{"id":1,"result":{},"error":{}}`, ScanError{Code: CodeInvalid, ResponseID: []byte("1"), Msg: "a request and a response at once, or two responses"}},
		{"a request and a result", `{"id":1,"method":"m","result":null}`, ScanError{Code: CodeInvalid, ResponseID: []byte("1"), Msg: "a request and a response at once, or two responses"}},
		{"a refused notification", `{"method":"m","params":{"Name":1}}`, ScanError{Code: CodeInvalid, Msg: `another spelling of "name"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Scan([]byte(tt.line))
			var got *ScanError
			if !errors.As(err, &got) {
				t.Fatalf("Scan(%s): %v, want a ScanError", tt.line, err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("Scan(%s) (-want +got):\n%s", tt.line, diff)
			}
		})
	}
}

func TestScanKnowsTheGrammar(t *testing.T) {
	good := []string{`0`, `-0`, `1`, `-12.50e+10`, `1E-2`, `10`, `""`, `"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, `"\ud800"`, `true`, `false`, `null`, `[]`, `[ ]`, `[1,"a",[{}]]`, `{}`, `{ }`, `{"a":{"b":[]}}`, `"é工😀\u2028"`, `"a string longer than eight bytes"`, strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1)}
	bad := []string{``, `01`, `+1`, `1.`, `.5`, `1e`, `1e+`, `-`, `0x1`, `NaN`, `Infinity`, `tru`, `truex`, `nul`, `"`, `"a`, `"\x"`, `"\u12g4"`, `"\u12`, `"\`, "\"a\tb\"", "\"\x00\"", "\"more than eight bytes\n\"", `'a'`, `[1,]`, `[,1]`, `[1 2]`, `[`, `[1`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1`, `{1:2}`, `/**/1`, "\u00a01", "\ufeff1", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "1\x00", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)}
	for _, value := range good {
		if _, err := Scan([]byte(`{"id":1,"result":` + value + `}`)); err != nil {
			t.Errorf("%s: %v, want it accepted", value, err)
		}
	}
	for _, value := range bad {
		if _, err := Scan([]byte(`{"id":1,"result":` + value + `}`)); err == nil {
			t.Errorf("%q was accepted", value)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	for _, bb := range benchLines() {
		if n := testing.AllocsPerRun(3, func() {
			if _, err := Scan(bb.line); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", bb.name, n)
		}
	}
}
