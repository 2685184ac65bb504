package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/wire"
)

// newMirror is a machine whose one server is the mirror, and its record file.
func newMirror(t *testing.T) (*rig.Rig, *rig.Host, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "record")
	frames, err := filepath.Abs("../../pkg/wire/testdata/server.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"mirror": {"command": %q, "args": ["mirror", %q, %q]}}}`, self, record, frames))
	h := r.Connect(r.Home, "mirror")
	h.Open()
	h.Ask("tools/list", map[string]any{})
	r.Listed("mirror") // mcpx itself asks no more
	return r, h, record
}

// recorded are the lines the mirror got that hold mark.
func recorded(t *testing.T, record, mark string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for line := range bytes.Lines(b) {
		if bytes.Contains(line, []byte(mark)) {
			out = append(out, bytes.TrimRight(line, "\n"))
		}
	}
	return out
}

// table is one of the wire package's tables of frames.
func table(t *testing.T, name string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("../../pkg/wire/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// TestTheFramesOfAHostArriveAsTheyWere sends the table of frames that typed
// proxies damage. Only the id and the progress token may differ (design D7).
func TestTheFramesOfAHostArriveAsTheyWere(t *testing.T) {
	_, h, record := newMirror(t)
	for _, f := range table(t, "host.txtar") {
		t.Run(f.Name, func(t *testing.T) {
			line := bytes.TrimRight(f.Data, "\n")
			env, err := wire.Scan(line)
			if err != nil {
				t.Fatal(err)
			}
			before := len(recorded(t, record, ""))
			if env.Kind == wire.Request {
				answer := h.Expect(string(env.Bytes(env.ID)))
				h.Send(string(line))
				h.Await(answer, f.Name)
			} else {
				h.Send(string(line))
				h.Call("mirror", map[string]string{"mark": "after"}) // comes behind it, in order
			}
			got := recorded(t, record, "")[before:]
			var want []byte
			switch env.Kind {
			case wire.Request:
				child, err := wire.Scan(got[0])
				if err != nil {
					t.Fatal(err)
				}
				id := child.Bytes(child.ID)
				want = env.Append(nil, wire.Edit{At: env.ID, With: id}, wire.Edit{At: env.ProgressToken, With: id})
			case wire.Notification:
				want = f.Data
				got = got[:len(got)-1]
			default: // nobody asked for this response
				got = got[:len(got)-1]
			}
			if diff := cmp.Diff(string(want), string(joined(got))); diff != "" {
				t.Errorf("what the server got (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheFramesOfAServerArriveAsTheyWere has the mirror answer with each frame.
func TestTheFramesOfAServerArriveAsTheyWere(t *testing.T) {
	_, h, _ := newMirror(t)
	h.Ask("logging/setLevel", map[string]string{"level": "debug"})
	for i, f := range table(t, "server.txtar") {
		t.Run(f.Name, func(t *testing.T) {
			id, token := fmt.Sprintf(`"\u0069d-%d"`, i), fmt.Sprintf(`"t\u006f-%d"`, i)
			answer := h.Expect(id)
			h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"mirror","arguments":{"frame":%q},"_meta":{"progressToken":%s}}}`, id, f.Name, token))
			got := h.Await(answer, f.Name)
			want := strings.NewReplacer(`"@id"`, id, `"@token"`, token).Replace(string(f.Data))
			if !bytes.Contains(f.Data, []byte(`"@id"`)) {
				got = h.Note(f.Name) // a burst of list_changed is told a moment after it
			}
			if diff := cmp.Diff(want, string(got.Line)); diff != "" {
				t.Errorf("what the host got (-want +got):\n%s", diff)
			}
		})
	}
}

func joined(lines [][]byte) (all []byte) {
	for _, line := range lines {
		all = append(append(all, line...), '\n')
	}
	return all
}

func TestALineOfFiveMegabytesPassesBothWays(t *testing.T) {
	_, h, record := newMirror(t)
	big := strings.Repeat("0123456789abcdéf", 5<<20/17)
	answer := h.Expect(`"big"`)
	h.Send(`{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"big","text":"` + big + `"}}}`)
	got := h.Await(answer, "a line of 5 MiB")
	if !bytes.Contains(got.Line, []byte(big)) {
		t.Errorf("the answer has %d bytes and not the text that was sent", len(got.Line))
	}
	if lines := recorded(t, record, `"mark":"big"`); len(lines) != 1 || !bytes.Contains(lines[0], []byte(big)) {
		t.Error("the server did not get the text that was sent")
	}
}

// TestSmuggledEnvelopesReachNoServer holds threat T7: a message that two
// decoders read differently is refused, and its server never sees it.
func TestSmuggledEnvelopesReachNoServer(t *testing.T) {
	_, h, record := newMirror(t)
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mirror","name":"smuggled"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mirror","Name":"smuggled"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n\u0061me":"smuggled","name":"mirror"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mirror","name\u0000":"smuggled"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/list","method":"smuggled"}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/list","METHOD":"smuggled"}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","param\u017f":{"name":"smuggled"},"params":{"name":"mirror"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"smuggled"},"params":{"name":"mirror"}}`,
	} {
		id := fmt.Sprint(1000 + i)
		answer := h.Expect(id)
		h.Send(fmt.Sprintf(line, 1000+i))
		if got := h.Await(answer, line); got.Error == nil || got.Error.Code != -32600 {
			t.Errorf("%s\nwas answered %s, want error -32600", line, got.Line)
		}
	}
	if got := recorded(t, record, "smuggled"); len(got) != 0 {
		t.Errorf("the server got %q", got)
	}
}

func TestGarbageFromTheHostCostsOnlyItself(t *testing.T) {
	_, h, record := newMirror(t)
	for _, line := range []string{`{bad`, `[]`, `"text"`, "\xff\xfe", `{"jsonrpc":"2.0","id":{},"method":"x"}`, ``, `{"jsonrpc":"2.0"}`} {
		h.Send(line)
	}
	answer := h.Expect(`"ok"`)
	h.Send(`{"jsonrpc":"2.0","id":"ok","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"ok"}}}`)
	if got := h.Await(answer, "a good line after bad ones"); got.Error != nil {
		t.Errorf("a good line after bad ones was answered %s", got.Line)
	}
	if got := recorded(t, record, "bad"); len(got) != 0 {
		t.Errorf("the server got %q", got)
	}
	errors := 0
	for {
		select {
		case m := <-h.Notes:
			if m.Error == nil || !strings.Contains(string(m.Error.Data), "hint") {
				t.Errorf("a bad line was answered %s", m.Line)
			}
			errors++
			continue
		case <-time.After(100 * time.Millisecond):
		}
		break
	}
	if errors == 0 {
		t.Error("no bad line was answered")
	}
}
