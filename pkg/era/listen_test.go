package era

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestReadFilter(t *testing.T) {
	tests := []struct {
		name, in string
		want     Filter
		err      string
	}{
		{"all there is", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///b","file:///a","file:///\u0062"],"x":1}`,
			Filter{true, true, true, []string{"file:///a", "file:///b"}}, ""},
		{"nothing", `{}`, Filter{}, ""},
		{"false and null are nothing", `{"toolsListChanged":false,"promptsListChanged":null,"resourceSubscriptions":null}`, Filter{}, ""},
		{"no list of what", `null`, Filter{}, "notifications is missing, or not an object"},
		{"a word for a boolean", `{"toolsListChanged":"yes"}`, Filter{}, "notifications.toolsListChanged is not a boolean"},
		{"one URI in place of a list", `{"resourceSubscriptions":"u"}`, Filter{}, "notifications.resourceSubscriptions is not a list"},
		{"a URI that is none", `{"resourceSubscriptions":["u",1]}`, Filter{}, "notifications.resourceSubscriptions has an entry that is not a string"},
		{"more than anybody reads", `{"resourceSubscriptions":[` + strings.Repeat(`"u",`, maxURIs) + `"u"]}`, Filter{}, "notifications.resourceSubscriptions has more than 10000 entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadFilter([]byte(`{"notifications":` + tt.in + `}`))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("got %v, want %s", err, tt.err)
			}
		})
	}
	if _, err := ReadFilter([]byte(`{}`)); err == nil {
		t.Error("without notifications: got no error")
	}
}

func TestFilters(t *testing.T) {
	a := Filter{Tools: true, URIs: []string{"u:a", "u:c"}}
	b := Filter{Tools: true, Prompts: true, URIs: []string{"u:b", "u:c"}}
	all := Filter{Tools: true, Prompts: true, URIs: []string{"u:a", "u:b", "u:c"}}
	if !all.Equal(all) || all.Equal(a) || !(Filter{}).Empty() || all.Empty() {
		t.Error("what a filter asks for is not told apart")
	}
	if diff := cmp.Diff(Filter{Tools: true, URIs: []string{"u:c"}}, a.Honoured(b)); diff != "" {
		t.Errorf("honoured (-want +got):\n%s", diff)
	}
	if !a.Honoured(all).Equal(a) {
		t.Error("what was asked for is in all")
	}
	for _, tt := range []struct {
		name, caps string
		want       Filter
	}{
		{"all", `{"tools":{},"prompts":{},"resources":{"subscribe":true}}`, all},
		{"lists only", `{"tools":{},"resources":{}}`, Filter{Tools: true}},
		{"a false promise is none", `{"resources":{"subscribe":false}}`, Filter{}},
		{"nothing", `{}`, Filter{}},
	} {
		if diff := cmp.Diff(tt.want, all.Offered([]byte(tt.caps))); diff != "" {
			t.Errorf("offered %s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWants(t *testing.T) {
	f := Filter{Tools: true, Resources: true, URIs: []string{"file:///a", "file:///d/"}}
	for _, tt := range []struct {
		method, uri string
		want        bool
	}{
		{"notifications/tools/list_changed", "", true}, {"notifications/prompts/list_changed", "", false},
		{"notifications/resources/list_changed", "", true}, {"notifications/message", "", false},
		{"notifications/resources/updated", "file:///a", true}, {"notifications/resources/updated", "file:///a/b", true},
		{"notifications/resources/updated", "file:///ab", false}, {"notifications/resources/updated", "file:///d/e", true},
		{"notifications/resources/updated", "file:///", false},
	} {
		if got := f.Wants(tt.method, tt.uri); got != tt.want {
			t.Errorf("Wants(%q, %q) = %v", tt.method, tt.uri, got)
		}
	}
}

// TestListenAsTheSDKReadsIt: what mcpx writes is what was meant.
func TestListenAsTheSDKReadsIt(t *testing.T) {
	f := Filter{Tools: true, Resources: true, URIs: []string{"file:///a?<\""}}
	want := mcp.NotificationSubscriptions{ToolsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: f.URIs}
	var listen mcp.SubscriptionsListenParams
	if err := json.Unmarshal(f.ListenParams(), &listen); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *listen.Notifications); diff != "" {
		t.Errorf("listen (-want +got):\n%s", diff)
	}
	line := f.AppendAcknowledged(nil, []byte(`"\u0061"`))
	const ack = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"\u0061"},"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a?<\""]}}}`
	if diff := cmp.Diff(ack+"\n", string(line)); diff != "" {
		t.Errorf("acknowledged (-want +got):\n%s", diff)
	}
	env := scan(t, strings.TrimSpace(string(line)))
	if got, err := ReadFilter(env.Bytes(env.Params)); err != nil || !got.Equal(f) {
		t.Errorf("read back: got %v %v", got, err)
	}
	if got, want := string(Filter{}.ListenParams()), `{"notifications":{}}`; got != want {
		t.Errorf("nothing: got %s, want %s", got, want)
	}
}

func TestStampEdit(t *testing.T) {
	const mark = `"io.modelcontextprotocol/subscriptionId":`
	tests := []struct{ name, in, want string }{
		{"a legacy server's word", `{"method":"notifications/tools/list_changed"}`, `{"method":"notifications/tools/list_changed","params":{"_meta":{` + mark + `"x"}}}`},
		{"one with params", `{"params":{"uri":"u"},"method":"m"}`, `{"params":{"_meta":{` + mark + `"x"},"uri":"u"},"method":"m"}`},
		{"one with a _meta", `{"method":"m","params":{"uri":"u","_meta":{"a":1}}}`, `{"method":"m","params":{"uri":"u","_meta":{` + mark + `"x","a":1}}}`},
		{"a modern server's", `{"method":"m","params":{"_meta":{"a":1,` + mark + `3}}}`, `{"method":"m","params":{"_meta":{"a":1,` + mark + `"x"}}}`},
		{"one marked with null", `{"method":"m","params":{"_meta":{` + mark + `null}}}`, `{"method":"m","params":{"_meta":{` + mark + `"x"}}}`},
		{"the end of a listen", `{"id":3,"result":{"_meta":{` + mark + `3},"resultType":"complete"}}`, `{"id":3,"result":{"_meta":{` + mark + `"x"},"resultType":"complete"}}`},
		{"an end that does not say of what", `{"id":3,"result":{}}`, `{"id":3,"result":{"_meta":{` + mark + `"x"}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, tt.in)
			if diff := cmp.Diff(tt.want, edited(&env, StampEdit(&env, []byte(`"x"`)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkBareAndComplete(b *testing.B) {
	call := scan(b, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{`+triple+`,"progressToken":3},"name":"a","arguments":{}}}`)
	result := scan(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":%q}]}}`, strings.Repeat("x", 64)))
	buf := make([]byte, 0, 1024)
	var edits [8]wire.Edit
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = call.Append(buf[:0], Bare(append(edits[:0], wire.Edit{At: call.ID, With: []byte("8")}), &call)...)
		}
	})
	b.Run("result", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = result.Append(buf[:0], CompleteEdits(append(edits[:0], wire.Edit{At: result.ID, With: []byte("8")}), &result, "tools/call", []byte(info))...)
		}
	})
}

func TestUnstamped(t *testing.T) {
	const mark = `"io.modelcontextprotocol/subscriptionId":`
	tests := []struct{ name, in, want string }{
		{"a _meta that says nothing else goes with it", `{"method":"m","params":{"uri":"u","_meta":{` + mark + `3}}}`, `{"method":"m","params":{"uri":"u"}}`},
		{"the rest of a _meta stays", `{"method":"m","params":{"_meta":{"a":1,` + mark + `"3"},"uri":"u"}}`, `{"method":"m","params":{"_meta":{"a":1},"uri":"u"}}`},
		{"nothing is left", `{"method":"m","params":{"_meta":{` + mark + `3}}}`, `{"method":"m","params":{}}`},
		{"one without stays as it is", `{"method":"m","params":{"_meta":{}}}`, `{"method":"m","params":{"_meta":{}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := scan(t, tt.in)
			if diff := cmp.Diff(tt.want, edited(&env, Unstamped(nil, &env)...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
