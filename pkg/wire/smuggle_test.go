package wire

import (
	"errors"
	"testing"
)

// TestScanRefusesSmuggledCalls holds the lines that some decoder reads as a call
// of "rm" while another reads "ls" (threat T7). None may pass. answer is the id
// that is certain all the same.
func TestScanRefusesSmuggledCalls(t *testing.T) {
	const one = "1"
	tests := []struct{ name, line, answer string }{
		{"name twice", `{"id":1,"method":"tools/call","params":{"name":"ls","name":"rm"}}`, one},
		{"name twice, the other way", `{"id":1,"method":"tools/call","params":{"name":"rm","name":"ls"}}`, one},
		{"name twice, the same", `{"id":1,"method":"tools/call","params":{"name":"ls","name":"ls"}}`, one},
		{"name twice, one null", `{"id":1,"method":"tools/call","params":{"name":null,"name":"rm"}}`, one},
		{"Name beside name", `{"id":1,"method":"tools/call","params":{"name":"ls","Name":"rm"}}`, one},
		{"NAME before name", `{"id":1,"method":"tools/call","params":{"NAME":"rm","name":"ls"}}`, one},
		{"Name alone", `{"id":1,"method":"tools/call","params":{"Name":"rm"}}`, one},
		{"an escaped letter", `{"id":1,"method":"tools/call","params":{"name":"ls","n\u0061me":"rm"}}`, one},
		{"an escaped letter alone", `{"id":1,"method":"tools/call","params":{"n\u0061me":"rm"}}`, one},
		{"an escaped capital", `{"id":1,"method":"tools/call","params":{"name":"ls","\u004eame":"rm"}}`, one},
		{"all letters escaped", `{"id":1,"method":"tools/call","params":{"\u006e\u0061\u006d\u0065":"rm"}}`, one},
		{"a NUL behind", `{"id":1,"method":"tools/call","params":{"name":"ls","name\u0000":"rm"}}`, one},
		{"a NUL and more behind", `{"id":1,"method":"tools/call","params":{"name\u0000x":"rm"}}`, one},
		{"half a pair in the name", `{"id":1,"method":"tools/call","params":{"na\ud800me":"rm"}}`, one},
		{"half a pair behind", `{"id":1,"method":"tools/call","params":{"name\udfff":"rm"}}`, one},
		{"an array as name", `{"id":1,"method":"tools/call","params":{"name":["rm"]}}`, one},
		{"an object as name", `{"id":1,"method":"tools/call","params":{"name":{"toString":"rm"}}}`, one},
		{"a number as name", `{"id":1,"method":"tools/call","params":{"name":7}}`, one},
		{"a NUL in the value", `{"id":1,"method":"tools/call","params":{"name":"rm\u0000"}}`, one},
		{"half a pair in the value", `{"id":1,"method":"tools/call","params":{"name":"rm\ud800"}}`, one},
		{"params twice", `{"id":1,"method":"tools/call","params":{"name":"ls"},"params":{"name":"rm"}}`, one},
		{"params twice, one null", `{"id":1,"method":"tools/call","params":{"name":"rm"},"params":null}`, one},
		{"Params beside params", `{"id":1,"method":"tools/call","params":{"name":"ls"},"Params":{"name":"rm"}}`, one},
		{"the long s in params", `{"id":1,"method":"tools/call","params":{"name":"ls"},"paramſ":{"name":"rm"}}`, one},
		{"the escaped long s", `{"id":1,"method":"tools/call","params":{"name":"ls"},"param\u017f":{"name":"rm"}}`, one},
		{"escaped params", `{"id":1,"method":"tools/call","p\u0061rams":{"name":"rm"}}`, one},
		{"params in an array", `{"id":1,"method":"tools/call","params":["rm"]}`, one},
		{"params in a string", `{"id":1,"method":"tools/call","params":"{\"name\":\"rm\"}"}`, one},
		{"method twice", `{"id":1,"method":"tools/list","method":"tools/call","params":{"name":"rm"}}`, one},
		{"Method beside method", `{"id":1,"method":"ping","Method":"tools/call","params":{"name":"rm"}}`, one},
		{"METHOD alone", `{"id":1,"METHOD":"tools/call","params":{"name":"rm"}}`, one},
		{"escaped method", `{"id":1,"method":"ping","metho\u0064":"tools/call","params":{"name":"rm"}}`, one},
		{"a NUL in the method", `{"id":1,"method":"tools/call\u0000","params":{"name":"rm"}}`, one},
		{"an array as method", `{"id":1,"method":["tools/call"],"params":{"name":"rm"}}`, one},
		{"a call dressed as a result", `{"id":1,"method":"tools/call","params":{"name":"rm"},"result":{}}`, ""},
		{"a call dressed as a null error", `{"id":1,"method":"tools/call","params":{"name":"rm"},"error":null}`, ""},
		{"a call dressed as a Result", `{"id":1,"method":"tools/call","params":{"name":"rm"},"Result":{}}`, ""},
		{"id twice", `{"id":1,"id":2,"method":"tools/call","params":{"name":"rm"}}`, ""},
		{"ID beside id", `{"id":1,"ID":2,"method":"tools/call","params":{"name":"rm"}}`, ""},
		{"escaped id", `{"i\u0064":1,"method":"tools/call","params":{"name":"rm"}}`, ""},
		{"jsonrpc twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`, one},
		{"JSONRPC", `{"JSONRPC":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`, one},
		{"the long s in jsonrpc", `{"jſonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`, one},
		{"uri twice", `{"id":1,"method":"resources/read","params":{"uri":"a:ls","uri":"a:rm"}}`, one},
		{"URI beside uri", `{"id":1,"method":"resources/read","params":{"uri":"a:ls","URI":"a:rm"}}`, one},
		{"ref twice", `{"id":1,"method":"completion/complete","params":{"ref":{"name":"ls"},"ref":{"name":"rm"}}}`, one},
		{"a name twice in ref", `{"id":1,"method":"completion/complete","params":{"ref":{"name":"ls","name":"rm"}}}`, one},
		{"URI in ref", `{"id":1,"method":"completion/complete","params":{"ref":{"Uri":"a:rm"}}}`, one},
		{"taskId in capitals", `{"id":1,"method":"tasks/cancel","params":{"taskId":"ls","TASKID":"rm"}}`, one},
		{"the Kelvin sign in taskId", "{\"id\":1,\"method\":\"tasks/cancel\",\"params\":{\"taskId\":\"ls\",\"tas\u212aId\":\"rm\"}}", one},
		{"the long s in taskId", `{"id":1,"method":"tasks/cancel","params":{"taskId":"ls","taſkId":"rm"}}`, one},
		{"cursor twice", `{"id":1,"method":"tools/list","params":{"cursor":"ls","cursor":"rm"}}`, one},
		{"requestId twice", `{"method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}`, ""},
		{"requestid in lower case", `{"method":"notifications/cancelled","params":{"requestid":2}}`, ""},
		{"requestId in an array", `{"method":"notifications/cancelled","params":{"requestId":[2]}}`, ""},
		{"_meta twice", `{"id":1,"method":"m","params":{"_meta":{"progressToken":1},"_meta":{"progressToken":2}}}`, one},
		{"_Meta beside _meta", `{"id":1,"method":"m","params":{"_meta":{},"_Meta":{"progressToken":2}}}`, one},
		{"the token twice", `{"id":1,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":2}}}`, one},
		{"ProgressToken", `{"id":1,"method":"m","params":{"_meta":{"ProgressToken":2}}}`, one},
		{"a progress token twice", `{"method":"notifications/progress","params":{"progressToken":1,"progressToken":2}}`, ""},
		{"a modern key twice", `{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/logLevel":"error"}}}`, one},
		{"a modern key in capitals", `{"id":1,"method":"m","params":{"_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, one},
		{"an escaped slash in a modern key", `{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}}`, one},
		{"a subscription twice in a result", `{"id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1,"io.modelcontextprotocol/subscriptionId":2}}}`, ""},
		{"a task twice", `{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a","taskId":"b"}}}}`, one},
		{"two messages on a line", `{"id":1,"method":"tools/list"}{"id":2,"method":"tools/call","params":{"name":"rm"}}`, one},
		{"a comment", `{"id":1,"method":"tools/call","params":{/*"name":"ls",*/"name":"rm"}}`, one},
		{"a comma too many", `{"id":1,"method":"tools/call","params":{"name":"rm",}}`, one},
		{"a byte order mark", "\ufeff{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}", ""},
		{"an overlong slash", "{\"id\":1,\"method\":\"tools\xc0\xafcall\",\"params\":{\"name\":\"rm\"}}", one},
		{"a raw NUL", "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\x00\":\"rm\"}}", one},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := Scan([]byte(tt.line))
			var se *ScanError
			if !errors.As(err, &se) {
				t.Fatalf("%s: accepted as %v", tt.line, found(&env))
			}
			if string(se.ID) != tt.answer {
				t.Errorf("%s: answer id %q, want %q", tt.line, se.ID, tt.answer)
			}
		})
	}
}

func TestScanLeavesWhatDecidesNothingAlone(t *testing.T) {
	for _, line := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"ls","arguments":{"name":"a","name":"b","NAME":"c","n\u0061me":"d"}}}`,
		`{"id":1,"method":"tools/call","params":{"name":"ls","\u0061rguments":{},"Arguments":{}}}`,
		`{"id":1,"method":"tools/call","params":{"name":"l\u0073","arguments":{"x":"\ud800\u0000"}}}`,
		`{"id":1,"method":"m","params":{"nameſ":1,"names":2,"äname":3,"rename":4}}`,
		`{"id":1,"method":"m","params":{"_meta":{"name":"a","Name":"b","traceparent":"c","traceparent":"d"}}}`,
		`{"id":1,"method":"m","x":{"id":2,"ID":3},"X":4}`,
		`{"id":1,"result":{"content":[],"Content":[],"name":1,"name":2,"resulttype":1,"resultType":2,"resultType":3}}`,
		`{"id":1,"error":{"code":1,"code":2,"message":"\u0000"}}`,
		`{"id":1,"method":"m","params":{"` + "a very long member name that is longer than any of the names that count for us" + `":1}}`,
	} {
		if _, err := Scan([]byte(line)); err != nil {
			t.Errorf("%s: %v, want it accepted", line, err)
		}
	}
}
