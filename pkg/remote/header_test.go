package remote

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/wire"
)

func TestEncodeValue(t *testing.T) { // the table of the 2026-07-28 transport
	for value, want := range map[string]string{
		"us-west1":                "us-west1",
		"us west":                 "us west",
		"Hello, 世界":               "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":                "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":            "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":      "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?":               "=?base64?",
		"\r\nX: 1":                "=?base64?DQpYOiAx?=",
		"\x00":                    "=?base64?AA==?=",
		"a\tb":                    "=?base64?YQli?=",
		"":                        "=?base64??=",
		"file:///a%20b?c#d":       "file:///a%20b?c#d",
		"\x7f":                    "=?base64?fw==?=",
		strings.Repeat("x", 5000): strings.Repeat("x", 5000),
	} {
		if got := encodeValue(value); got != want {
			t.Errorf("encodeValue(%q): got %q, want %q", value, got, want)
		}
	}
}

// FuzzEncodeValue: no value makes more than one header, and each comes back.
func FuzzEncodeValue(f *testing.F) {
	f.Add("a\r\nSet-Cookie: x")
	f.Add("=?base64?eA==?=")
	f.Fuzz(func(t *testing.T, value string) {
		got := encodeValue(value)
		for _, c := range []byte(got) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q became %q", value, got)
			}
		}
		back := got
		if inner, ok := strings.CutPrefix(got, encodedBefore); ok && strings.HasSuffix(inner, encodedAfter) {
			raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, encodedAfter))
			if err != nil {
				t.Fatal(err)
			}
			back = string(raw)
		}
		if back != value || strings.TrimSpace(got) != got {
			t.Fatalf("%q became %q, which is %q again", value, got, back)
		}
	})
}

func TestMirrored(t *testing.T) {
	tests := []struct {
		name, line string
		want       map[string]string
	}{
		{"a tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}},
		{"a tool whose name ends the line", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\r\nX: 1"}}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?YQ0KWDogMQ==?="}},
		{"a method that ends the line", `{"jsonrpc":"2.0","id":1,"method":"a\nb"}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "=?base64?YQpi?="}},
		{"a resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///ä","name":"n"}}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/read", "Mcp-Name": "=?base64?ZmlsZTovLy/DpA==?="}},
		{"a list has no name", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"x"}}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}},
		{"a request that names its revision", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}}`,
			map[string]string{"Mcp-Protocol-Version": "2027-01-01", "Mcp-Method": "prompts/get", "Mcp-Name": "p"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := wire.Scan([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, mirrored(&env, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const regionTool = `{"name":"q","inputSchema":{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},
	"at":{"type":"object","properties":{"depth":{"type":"integer","x-mcp-header":"Depth"}}},
	"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
	"const":{"type":"string","default":{"x-mcp-header":"no schema"}},
	"properties":{"type":"string"}}}}`

func TestParametersGoIntoHeaders(t *testing.T) {
	var known toolParams
	if kept, dropped := known.learn([]byte(`{"tools":[` + regionTool + `]}`)); dropped != nil || !strings.Contains(string(kept), "Region") {
		t.Fatalf("dropped %v", dropped)
	}
	for arguments, want := range map[string]map[string]string{
		`{"region":"us-west1","query":"x"}`:            {"Region": "us-west1"},
		`{"region":"ü","at":{"depth":42},"dry":false}`: {"Region": "=?base64?w7w=?=", "Depth": "42", "Dry-Run": "false"},
		`{"region":null,"at":{"depth":42.0}}`:          {"Depth": "42"},
		`{"at":{"depth":1.5},"dry":"true"}`:            {"Dry-Run": "true"},
		`{"at":{"depth":9007199254740993}}`:            {},
		`{"region":{"a":1},"at":7}`:                    {},
		`{"region":"a\r\nAuthorization: x"}`:           {"Region": "=?base64?YQ0KQXV0aG9yaXphdGlvbjogeA==?="},
		`[]`:                                           {}, `"x"`: {}, `null`: {},
	} {
		env, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"q","arguments":` + arguments + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, paramHeaders(&env, known.of("q"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}

func TestToolsWithInvalidAnnotationsAreLeftOut(t *testing.T) { // threat T33
	for name, schema := range map[string]string{
		"an empty name":             `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		"a line end in the name":    `{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}`,
		"a space in the name":       `{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`,
		"no name":                   `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`,
		"an object":                 `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`,
		"a number":                  `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		"no type":                   `{"properties":{"a":{"x-mcp-header":"A"}}}`,
		"one name twice":            `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
		"below items":               `{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`,
		"below properties in items": `{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`,
		"in oneOf":                  `{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		"in $defs":                  `{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`,
		"at the top":                `{"type":"string","x-mcp-header":"A"}`,
		"escaped":                   `{"properties":{"a":{"type":"object","x\u002dmcp-header":"A"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var known toolParams
			result := `{"tools":[{"name":"first"}, {"name":"bad","inputSchema":` + schema + `}, ` + regionTool + `],"x":1}`
			kept, dropped := known.learn([]byte(result))
			if len(dropped) != 1 || !strings.HasPrefix(dropped[0], "bad: ") || known.of("bad") != nil {
				t.Errorf("dropped %q", dropped)
			}
			if want := `{"tools":[{"name":"first"},` + regionTool + `],"x":1}`; string(kept) != want {
				t.Errorf("got %s", kept)
			}
		})
	}
	for name, result := range map[string]string{
		"not a list": `{"tools":7}`, "no tools": `{}`, "no objects": `{"tools":[1,null,"x"]}`, "a schema that is none": `{"tools":[{"name":"a","inputSchema":7}]}`,
		"nothing annotated": `{"tools":[{"name":"a","inputSchema":{"x":"x-mcp-header"}}]}`,
	} {
		if kept, dropped := new(toolParams).learn([]byte(result)); string(kept) != result || dropped != nil {
			t.Errorf("%s: got %s, dropped %q", name, kept, dropped)
		}
	}
}

func TestAModernListLosesItsInvalidTools(t *testing.T) {
	s := newWeb(t, "modern")
	list := `{"tools":[{"name":"bad","inputSchema":{"x-mcp-header":"A"}},` + strings.NewReplacer("\n", "", "\t", "").Replace(regionTool) + `]}`
	s.set(only("tools/list", func(w http.ResponseWriter, r *request) { s.answer(w, r, 200, `"result":`+list) }))
	k := dial(t, s.plan(), Options{})
	var m struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(k.works("tools/list", "{}")), &m); err != nil || len(m.Result.Tools) != 1 || m.Result.Tools[0].Name != "q" {
		t.Errorf("got %+v, %v, want the good one", m, err)
	}
	k.works("tools/call", `{"name":"q","arguments":{"region":"eu"}}`)
	if got := s.asked("tools/call")[0].Get("Mcp-Param-Region"); got != "eu" {
		t.Errorf("Mcp-Param-Region: got %q", got)
	}
}

// TestACallThatMissesHeadersIsMadeAgain is for calls that come before any list.
func TestACallThatMissesHeadersIsMadeAgain(t *testing.T) {
	s := newWeb(t, "modern")
	tool := strings.NewReplacer("\n", "", "\t", "").Replace(regionTool)
	s.set(func(w http.ResponseWriter, r *request) bool {
		switch {
		case r.Method == "tools/list" && r.Params["cursor"] == nil:
			s.answer(w, r, 200, `"result":{"tools":[],"nextCursor":"2"}`)
		case r.Method == "tools/list":
			s.answer(w, r, 200, `"result":{"tools":[`+tool+`]}`)
		case r.Method == "tools/call" && r.Get("Mcp-Param-Region") == "":
			s.answer(w, r, 400, `"error":{"code":-32020,"message":"Header mismatch"}`)
		default:
			return false
		}
		return true
	})
	k := dial(t, s.plan(), Options{})
	k.works("tools/call", `{"name":"q","arguments":{"region":"eu"}}`)
	if line := k.ask("tools/call", `{"name":"other","arguments":{"region":"eu"}}`); !strings.Contains(line, "-32020") {
		t.Errorf("a call that no list helps: got %s, want the server's own error", line)
	}
	if n := len(s.asked("tools/call")); n != 4 {
		t.Errorf("%d calls were sent, want 4", n)
	}
}
