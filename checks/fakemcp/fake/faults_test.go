package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const echoCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`

const echoed = `{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"x","type":"text"}]}}`

// TestFaults asks servers one question each and reads so many lines.
func TestFaults(t *testing.T) {
	tests := []struct {
		name string
		args []string
		line string
		want []string
	}{
		{"a code of one's own for discover", []string{"-discover", "-32000"}, `{"id":"p","method":"server/discover"}`,
			[]string{`{"error":{"code":-32000,"message":"Method not found"},"id":"p","jsonrpc":"2.0"}`}},
		{"an answer byte by byte", []string{"-byte-by-byte"}, echoCall, []string{echoed}},
		{"an answer that is none, and noise", []string{"-bad-line"}, echoCall,
			[]string{echoed[:len(echoed)-1] + `,"result":{}}`, "{\"jsonrpc\":\x00\xff\xfe"}},
		{"prompts only", []string{"-prompts-only"}, `{"id":1,"method":"prompts/list"}`, []string{`{"id":1,"jsonrpc":"2.0","result":{"prompts":[{"name":"greet"}]}}`}},
		{"and no tools", []string{"-prompts-only"}, echoCall, []string{`{"error":{"code":-32601,"message":"Method not found"},"id":1,"jsonrpc":"2.0"}`}},
		{"others have no prompts", nil, `{"id":1,"method":"prompts/list"}`, []string{`{"error":{"code":-32601,"message":"Method not found"},"id":1,"jsonrpc":"2.0"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, tt.args...)
			p.send(tt.line)
			var got []string
			for range tt.want {
				got = append(got, p.read())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFaultsMayPass: the second start, or the second call, is good.
func TestFaultsMayPass(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for i, want := range []int{7, 0} {
		p := start(t, "-exit", "7", "-faulty", "1", "-state", state, "-name", "kept")
		_ = p.in.Close()
		_, _ = io.Copy(io.Discard, p.out)
		_ = p.cmd.Wait()
		if code := p.cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("start %d: exit status %d, want %d", i+1, code, want)
		}
	}
	p := start(t, "-null-result", "-first-calls", "1")
	got := []string{p.ask(echoCall), p.ask(echoCall)}
	if diff := cmp.Diff([]string{`{"id":1,"jsonrpc":"2.0","result":null}`, echoed}, got); diff != "" {
		t.Errorf("two answers (-want +got):\n%s", diff)
	}
}

func TestLists(t *testing.T) {
	page := func(p *peer, cursor string) (names []string, next string) {
		var m struct {
			Result struct {
				Tools      []struct{ Name string }
				NextCursor string
			}
		}
		line := p.ask(fmt.Sprintf(`{"id":1,"method":"tools/list","params":{"cursor":%q}}`, cursor))
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		for _, tool := range m.Result.Tools {
			names = append(names, tool.Name)
		}
		return names, m.Result.NextCursor
	}
	p := start(t, "-endless-pages")
	first, next := page(p, "")
	second, after := page(p, "5000")
	if !slices.Equal(first, second) || next != "1" || after != "5001" {
		t.Errorf("endless pages: got %q, %q, then %q, %q", first, next, second, after)
	}
	if names, next := page(start(t, "-many-tools", "3"), ""); next != "" || !slices.Equal(names[len(names)-3:], []string{"more_0", "more_1", "more_2"}) {
		t.Errorf("many tools: got %q, %q", names, next)
	}
}

func TestStorms(t *testing.T) {
	for method, line := range map[string]string{
		"notifications/progress":           `{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"storm","progress":0,"progressToken":7,"total":1}}`,
		"notifications/message":            `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"storm","level":"info"}}`,
		"notifications/tools/list_changed": `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		"ping":                             `{"id":"storm-0","jsonrpc":"2.0","method":"ping"}`,
	} {
		t.Run(method, func(t *testing.T) {
			p := start(t, "-storm", method)
			got := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"storm","arguments":{"ms":30},"_meta":{"progressToken":7}}}`)
			if got != line {
				t.Errorf("the first line is %s, want %s", got, line)
			}
			n := 1
			for got = p.read(); strings.Contains(got, `"method"`); got = p.read() {
				n++
			}
			if want := fmt.Sprint("stormed ", n); textOf(t, got) != want {
				t.Errorf("answered %s, want %s", got, want)
			}
		})
	}
}

func TestALineWithoutEnd(t *testing.T) {
	p := start(t, "-endless-line")
	p.send(echoCall)
	line := make([]byte, 4<<20)
	if _, err := io.ReadFull(p.out, line); err != nil {
		t.Fatal(err)
	}
	if want := echoed[:len(echoed)-1] + `,"more":"xxx`; !strings.HasPrefix(string(line), want) || strings.Contains(string(line), "\n") {
		t.Errorf("got %.200s and so on, want %s…", line, want)
	}
	_ = p.cmd.Process.Kill()
}
