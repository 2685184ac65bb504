package era

import (
	"bytes"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
)

// FuzzMetaEdit checks that the edit gives a message whose _meta names the
// revision, and that without what was added the line is what it was.
func FuzzMetaEdit(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m"}`))
	f.Add([]byte(`{"id":1,"method":"m","params":{ "a":1}}`))
	f.Add([]byte(`{"params":{"_meta":{"progressToken":"t"}},"id":1,"method":"m"}`))
	x := Meta{Workspace: []byte(`{"rootUri":"file:///"}`)}.Extra()
	f.Fuzz(func(t *testing.T, line []byte) {
		env, err := wire.Scan(line)
		if err != nil || env.Kind != wire.Request {
			return
		}
		edit, ok := MetaEdit(&env, x)
		if !ok {
			return
		}
		out := env.Append(nil, edit)
		told, err := wire.Scan(out[:len(out)-1])
		if err != nil || told.ProtocolVersion.Empty() || told.Workspace.Empty() {
			t.Fatalf("%s became %s: %v", line, out, err)
		}
		if edit.At.Empty() && !bytes.Equal(line, bytes.Replace(out[:len(out)-1], edit.With, nil, 1)) {
			t.Errorf("%s became %s", line, out)
		}
	})
}

// FuzzCompleteEdits checks that the result says all that a modern one must, and
// that what it said before it says still.
func FuzzCompleteEdits(f *testing.F) {
	f.Add([]byte(`{"tools":[],"cacheScope":"", "ttlMs":null}`))
	f.Add([]byte(`{"_meta":{"a":1},"resultType":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, result []byte) {
		env, err := wire.Scan(wrap(`{"id":1,"result":`, result, `}`))
		if err != nil || env.Kind != wire.Result || !bytes.Equal(env.Bytes(env.Result), result) {
			return
		}
		got := Complete("tools/list", result, []byte(`{"name":"s"}`))
		if result[0] != '{' && result[0] != 'n' {
			if !bytes.Equal(got, result) {
				t.Errorf("%s became %s", result, got)
			}
			return
		}
		after, err := wire.Scan(wrap(`{"id":1,"result":`, got, `}`))
		if err != nil || after.ResultType.Empty() || !hasServer(&after) {
			t.Fatalf("%s became %s: %v", result, got, err)
		}
		for _, key := range []string{"ttlMs", "cacheScope"} {
			if _, ok := wire.Member(got, key); !ok {
				t.Errorf("%s became %s", result, got)
			}
		}
		for name, value := range wire.Members(result) {
			key, _ := wire.Text(result[name.Start:name.End])
			at, ok := wire.Member(got, key)
			if last, _ := wire.Member(result, key); last != value || key == "_meta" || key == "resultType" || key == "ttlMs" || key == "cacheScope" {
				continue
			}
			if !ok || !bytes.Equal(got[at.Start:at.End], result[value.Start:value.End]) {
				t.Errorf("%s: %s became %s", key, result, got)
			}
		}
	})
}

// FuzzAsk checks that questions survive the way to a modern host and back.
func FuzzAsk(f *testing.F) {
	f.Add([]byte(`{"inputRequests":{"a":{"method":"roots/list"},"\u0062":{"method":"elicitation/create","params":{"n":1e400}}},"requestState":"s"}`))
	f.Add([]byte(`{"requestState":"s"}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		if _, err := wire.Scan(wrap(`{"id":1,"result":`, result, `}`)); err != nil {
			return
		}
		asks, raw, err := ReadInputRequired("tools/call", result)
		if err != nil {
			return
		}
		state, _ := wire.Text(raw)
		again, _, err := ReadInputRequired("tools/call", InputRequired(asks, state, nil))
		if err != nil && (len(asks) > 0 || state != "") {
			t.Fatalf("%s: %v", result, err)
		}
		for i := range asks {
			if asks[i].Params == nil {
				asks[i].Params = []byte("{}")
			}
		}
		if diff := cmp.Diff(asks, again); diff != "" {
			t.Errorf("%s (-want +got):\n%s", result, diff)
		}
	})
}
