package era

import (
	"encoding/json"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
)

const triple = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"h"}`

func TestMetaEdit(t *testing.T) {
	plain := Meta{ClientInfo: []byte(`{"name":"h"}`)}
	placed := plain
	placed.Workspace = []byte(`{"rootUri":"file:///w"}`)
	const workspace = `"dev.mcpx/workspace":{"rootUri":"file:///w"}`
	tests := []struct {
		name, in, want string
		meta           Meta
	}{
		{"a request without params gets them", `{"id":1,"method":"tools/list"}`,
			`{"id":1,"method":"tools/list","params":{"_meta":{` + triple + `}}}`, plain},
		{"null params become an object", `{"id":1,"method":"m","params":null}`,
			`{"id":1,"method":"m","params":{"_meta":{` + triple + `}}}`, plain},
		{"empty params stay one object", `{"id":1,"method":"m","params":{ }}`,
			`{"id":1,"method":"m","params":{"_meta":{` + triple + `} }}`, plain},
		{"other params stay as sent", `{"params":{"z":1e3, "a":"\u003c"},"id":1,"method":"m"}`,
			`{"params":{"_meta":{` + triple + `},"z":1e3, "a":"\u003c"},"id":1,"method":"m"}`, plain},
		{"a _meta of the host's keeps its members", `{"id":1,"method":"m","params":{"_meta":{"progressToken":7},"name":"x"}}`,
			`{"id":1,"method":"m","params":{"_meta":{` + triple + `,"progressToken":7},"name":"x"}}`, plain},
		{"an empty _meta", `{"id":1,"method":"m","params":{"_meta":{}}}`,
			`{"id":1,"method":"m","params":{"_meta":{` + triple + `}}}`, plain},
		{"a null _meta", `{"id":1,"method":"m","params":{"_meta":null}}`,
			`{"id":1,"method":"m","params":{"_meta":{` + triple + `}}}`, plain},
		{"an instance with a root says so on each request", `{"id":1,"method":"m"}`,
			`{"id":1,"method":"m","params":{"_meta":{` + triple + `,` + workspace + `}}}`, placed},
		{"a request that names its revision is told the workspace only",
			`{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`{"id":1,"method":"m","params":{"_meta":{` + workspace + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, placed},
		{"and nothing when there is none",
			`{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, plain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := wire.Scan([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			var edits []wire.Edit
			if e, ok := MetaEdit(&env, tt.meta.Extra()); ok {
				edits = append(edits, e)
			}
			got := string(env.Append(nil, edits...))
			if diff := cmp.Diff(tt.want+"\n", got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !json.Valid([]byte(got)) {
				t.Error("not JSON")
			}
		})
	}
}

func TestAddMeta(t *testing.T) {
	x := Meta{ClientInfo: []byte(`{"name":"h"}`), LogLevel: "debug"}.Extra()
	const with = triple + `,"io.modelcontextprotocol/logLevel":"debug"`
	tests := []struct{ name, in, want string }{
		{"no params", ``, `{"_meta":{` + with + `}}`},
		{"params without _meta", `{"cursor":"c"}`, `{"cursor":"c","_meta":{` + with + `}}`},
		{"params with _meta", `{"_meta":{"a":1},"b":2}`, `{"_meta":{"a":1,` + with + `},"b":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(AddMeta([]byte(tt.in), x))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInitializeFromDiscover(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"unknown members survive and modern ones go",
			`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"x":{}},"instructions":"a<b","ttlMs":0,"cacheScope":"private","new":9007199254740993,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}`,
			`{"capabilities":{"tools":{"listChanged":true},"x":{}},"instructions":"a<b","new":9007199254740993,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}},"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"2"}}`},
		{"resources keep subscribe, which mcpx answers by listening",
			`{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true,"listChanged":true}}}`,
			`{"capabilities":{"resources":{"subscribe":true,"listChanged":true}},"protocolVersion":"2025-11-25","serverInfo":{"name":"srv","version":""}}`},
		{"a server that says nothing gets its name in the config",
			`{"supportedVersions":["2026-07-28"]}`,
			`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"srv","version":""}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := InitializeFromDiscover([]byte(tt.in), "srv")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := InitializeFromDiscover([]byte(`[]`), "srv"); err == nil {
		t.Error("an array: got no error")
	}
}

func TestEraOfAnswers(t *testing.T) {
	if !IsDiscover([]byte(`{"supportedVersions":["2025-11-25","2026-07-28"]}`)) {
		t.Error("a discover result is not taken for one")
	}
	for _, s := range []string{`{}`, `null`, `[]`, `{"supportedVersions":["2025-11-25"]}`, `{"supportedVersions":"2026-07-28"}`} {
		if IsDiscover([]byte(s)) {
			t.Errorf("%s is taken for a discover result", s)
		}
	}
	if !NamesModern([]byte(`{"supported":["2026-07-28"]}`)) || NamesModern([]byte(`{"supported":["2025-11-25"]}`)) || NamesModern(nil) {
		t.Error("NamesModern misreads the data of error -32022")
	}
	if !IsLegacy("2024-11-05") || IsLegacy("2026-07-28") || IsLegacy("") {
		t.Error("IsLegacy misreads a revision")
	}
}
