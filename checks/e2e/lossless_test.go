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
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"mirror": {"command": %q, "args": ["mirror", %q]}}}`, self, record))
	h := r.Connect(r.Home, "mirror")
	h.Open()
	h.Ask("tools/list", map[string]any{})
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

// TestBytesPassThrough sends frames that typed proxies damage and compares what
// arrives, both ways, byte for byte. Only the id and the progress token may
// differ on the way out (design D7).
func TestBytesPassThrough(t *testing.T) {
	_, h, record := newMirror(t)
	frames := []struct{ name, id, line string }{
		{"unknown members beside the known ones", `"f1"`, `{"vendor":{"a":[1,{}]},"jsonrpc":"2.0","id":"f1","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f1"},"x":null},"z":1}`},
		{"integers above 2^53 and other odd numbers", `9007199254740993`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f2","big":9007199254740993,"neg":-0,"exp":1E400,"frac":2.50}}}`},
		{"escapes as they were spelled", `"f\u0033"`, `{"jsonrpc":"2.0","id":"f\u0033","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f3","s":"\u00e9é\ud83d\ude00😀\/<>&\u2028"}}}`},
		{"key order and white space", `4`, `{ "id" : 4 ,"params":{"arguments":{"z":1,"mark":"f4","a":2},	"name":"mirror"},"method":"tools/call","jsonrpc":"2.0"}`},
		{"an unknown method", `"f5"`, `{"jsonrpc":"2.0","id":"f5","method":"vendor/does.not/exist","params":{"arguments":{"mark":"f5"}}}`},
		{"a string id that looks like a number", `"1"`, `{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f6"}}}`},
		{"unknown content types in the result", `"f7"`, `{"jsonrpc":"2.0","id":"f7","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f7","content":[{"type":"hologram","data":{"k":[]}}],"resultType":"vendor","_meta":{"x/y":1}}}}`},
		{"an error with data", `"f8"`, `{"jsonrpc":"2.0","id":"f8","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f8","error":{"code":-31999,"message":"no \u0041","data":{"deep":[1.0,9007199254740993]},"extra":true}}}}`},
		{"duplicate keys inside arguments", `"f9"`, `{"jsonrpc":"2.0","id":"f9","method":"tools/call","params":{"name":"mirror","arguments":{"mark":"f9","name":1,"Name":2,"name":3}}}`},
	}
	for _, f := range frames {
		t.Run(f.name, func(t *testing.T) {
			answer := h.Expect(f.id)
			h.Send(f.line)
			got := h.Await(answer, f.name)

			env, err := wire.Scan([]byte(f.line))
			if err != nil {
				t.Fatal(err)
			}
			at, _ := wire.Member(env.Bytes(env.Params), "arguments")
			args := env.Bytes(env.Params)[at.Start:at.End]
			mark := `"mark":"` + mark(args) + `"`
			lines := recorded(t, record, mark)
			if len(lines) != 1 {
				t.Fatalf("the server got %d lines for one request", len(lines))
			}
			child, err := wire.Scan(lines[0])
			if err != nil {
				t.Fatal(err)
			}
			want := string(bytes.TrimRight(env.Append(nil, wire.Edit{At: env.ID, With: child.Bytes(child.ID)}), "\n"))
			if diff := cmp.Diff(want, string(lines[0])); diff != "" {
				t.Errorf("what the server got (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(string(reflected(lines[0], f.id)), string(got.Line)); diff != "" {
				t.Errorf("what the host got (-want +got):\n%s", diff)
			}
		})
	}
}

func mark(args []byte) string {
	at, _ := wire.Member(args, "mark")
	text, _ := wire.Text(args[at.Start:at.End])
	return text
}

// reflected is the mirror's answer to line, under the host's own id.
func reflected(line []byte, id string) []byte {
	out := reflect(line)
	env, err := wire.Scan(bytes.TrimRight(out, "\n"))
	if err != nil {
		panic(err)
	}
	return env.Append(nil, wire.Edit{At: env.ID, With: []byte(id)})
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
