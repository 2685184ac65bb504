package era

import (
	"bytes"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
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
