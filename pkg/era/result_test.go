package era

import (
	"encoding/json"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func scan(t testing.TB, line string) wire.Envelope {
	t.Helper()
	env, err := wire.Scan([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return env
}

func edited(env *wire.Envelope, edits ...wire.Edit) string {
	line := env.Append(nil, edits...)
	return string(line[:len(line)-1])
}

const info = `{"name":"s","version":"1"}`

func TestCompleteEdits(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}`
	const kept = `"ttlMs":0,"cacheScope":"private",`
	tests := []struct{ name, method, in, want string }{
		{"a call is told complete", "tools/call", `{"content":[{"n":9007199254740993}], "z":1e3}`,
			`{"resultType":"complete",` + meta + `,"content":[{"n":9007199254740993}], "z":1e3}`},
		{"a list may not be kept", "tools/list", `{"tools":[]}`, `{"resultType":"complete",` + kept + meta + `,"tools":[]}`},
		{"nor a resource", "resources/read", `{"contents":[]}`, `{"resultType":"complete",` + kept + meta + `,"contents":[]}`},
		{"an empty result", "tools/call", `{ }`, `{"resultType":"complete",` + meta + ` }`},
		{"null is an empty result", "tools/call", `null`, `{"resultType":"complete",` + meta + `}`},
		{"a null type is none", "tools/call", `{"resultType":null}`, `{` + meta + `,"resultType":"complete"}`},
		{"what says it all stays", "tools/list",
			`{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`,
			`{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`},
		{"empty hints are filled in", "tools/list", `{"cacheScope":"","ttlMs":-1,"resultType":"complete","tools":[]}`,
			`{` + meta + `,"cacheScope":"private","ttlMs":0,"resultType":"complete","tools":[]}`},
		{"a _meta of the server's keeps its members", "prompts/get", `{"_meta":{"a/b":1},"messages":[]}`,
			`{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + info + `,"a/b":1},"messages":[]}`},
		{"a null _meta", "prompts/get", `{"_meta":null}`, `{"resultType":"complete",` + meta + `}`},
		{"what is not an object stays", "x/y", `[1]`, `[1]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, `{"jsonrpc":"2.0","id":7,"result":`+tt.in+`}`)
			got := edited(&env, append(CompleteEdits(nil, &env, tt.method, []byte(info)), wire.Edit{At: env.ID, With: []byte(`"a"`)})...)
			if diff := cmp.Diff(`{"jsonrpc":"2.0","id":"a","result":`+tt.want+`}`, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, string(Complete(tt.method, []byte(tt.in), []byte(info)))); diff != "" {
				t.Errorf("Complete (-want +got):\n%s", diff)
			}
		})
	}
	if got := Complete("m", []byte(`{"a"`), nil); string(got) != `{"a"` {
		t.Errorf("half an object became %s", got)
	}
	if got := Complete("m", []byte(`{}`), nil); string(got) != `{"resultType":"complete"}` {
		t.Errorf("without a server's name: got %s", got)
	}
}

func TestTypeOf(t *testing.T) {
	for in, want := range map[string]ResultType{
		`{}`: ResultComplete, `{"resultType":null}`: ResultComplete, `{"resultType":"complete"}`: ResultComplete,
		`{"resultType":"input_required"}`: ResultInputRequired, `{"resultType":"input\u005frequired"}`: ResultInputRequired,
		`{"resultType":"task"}`: ResultUnknown, `{"resultType":"COMPLETE"}`: ResultUnknown, `{"resultType":""}`: ResultUnknown, `{"resultType":1}`: ResultUnknown,
	} {
		env := scan(t, `{"id":1,"result":`+in+`}`)
		if got := TypeOf(&env); got != want {
			t.Errorf("%s: got %d, want %d", in, got, want)
		}
	}
}

func TestDiscoverFromInitialize(t *testing.T) {
	const versions = `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`
	const front = `"resultType":"complete","ttlMs":0,"cacheScope":"private",`
	tests := []struct {
		name, in, want string
		watched        []string
	}{
		{"members that discover does not know survive",
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}},"x":{"n":9007199254740993},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"},"instructions":"a<b","new":1}`,
			`{` + front + `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"capabilities":{"tools":{"listChanged":true},"x":{"n":9007199254740993},"resources":{"subscribe":true,"listChanged":true}},"instructions":"a<b","new":1,` + versions + `}`,
			[]string{"tools", "prompts", "resources"}},
		{"nothing is promised that is not watched",
			`{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"prompts":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"},"_meta":{"a":1}}`,
			`{` + front + `"capabilities":{"tools":{},"prompts":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"},"a":1},` + versions + `}`,
			nil},
		{"a server that says nothing gets its name in the config", `{}`,
			`{` + front + `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"srv","version":""}},` + versions + `,"capabilities":{}}`,
			[]string{"tools"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DiscoverFromInitialize([]byte(tt.in), "srv", tt.watched...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var sdk mcp.DiscoverResult
			if err := json.Unmarshal(got, &sdk); err != nil || !IsDiscover(got) {
				t.Errorf("not a discover result: %v", err)
			}
		})
	}
	for _, in := range []string{`[]`, `{`, ``} {
		if _, err := DiscoverFromInitialize([]byte(in), "srv"); err == nil {
			t.Errorf("%q: got no error", in)
		}
	}
}

// TestThereAndBack: a handshake that is translated twice says what it said.
func TestThereAndBack(t *testing.T) {
	const in = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"i","new":[1e400]}`
	discover, err := DiscoverFromInitialize([]byte(in), "srv", "tools")
	if err != nil {
		t.Fatal(err)
	}
	back, err := InitializeFromDiscover(discover, "other")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"protocolVersion", "capabilities", "serverInfo", "instructions", "new"} {
		a, _ := wire.Member([]byte(in), key)
		b, _ := wire.Member(back, key)
		if diff := cmp.Diff(in[a.Start:a.End], string(back[b.Start:b.End])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestVersions(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2024-10-07": "2025-11-25", "2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		if got := Negotiate(asked); got != want {
			t.Errorf("Negotiate(%q) = %q, want %q", asked, got, want)
		}
	}
	if got := Supported(); got[0] != mcp.SupportedProtocolVersions()[0] {
		t.Errorf("the newest is %s, the SDK's %s", got[0], mcp.SupportedProtocolVersions()[0])
	}
	if diff := cmp.Diff([]string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyServerInfo, mcp.MetaKeySubscriptionID},
		[]string{keyVersion, keyInfo, keyCaps, keyServer, keySubscription}); diff != "" {
		t.Errorf("keys (-sdk +ours):\n%s", diff)
	}
	if Has(true, "ping") || Has(false, "server/discover") || !Has(true, "tools/call") || !Has(false, "tools/call") || !Has(false, "ping") {
		t.Error("Has misplaces a method")
	}
}
