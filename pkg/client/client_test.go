package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/wire"
)

// against is a client whose other side is answer: a line in, lines out.
func against(t *testing.T, answer func(line string) []string) *Client {
	t.Helper()
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{to: to, lines: make(chan reply), ended: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(c.ended)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, l := range answer(lines.Text()) {
				if l == "" { // the other side is gone
					c.lines <- reply{err: io.EOF}
					return
				}
				c.lines <- reply{line: []byte(l)}
			}
		}
	}()
	t.Cleanup(func() {
		to.Close()
		<-done
		in.Close()
	})
	return c
}

func TestRequestTakesItsOwnAnswer(t *testing.T) {
	var heard []string
	c := against(t, func(line string) []string {
		heard = append(heard, line)
		if !strings.Contains(line, "tools/call") {
			return nil
		}
		return []string{
			`{"jsonrpc":"2.0","id":7,"result":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":2}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
			`{"jsonrpc":"2.0","id":"a","method":"ping"}`,
			`{"jsonrpc":"2.0","id":"b","method":"roots/list"}`,
			`not JSON`,
			`{"jsonrpc":"2.0","id":1,"result":{"z":12345678901234567890.50,"a":"\u0041"}}`,
		}
	})
	var progress []string
	c.o.Progress = func(params []byte) { progress = append(progress, string(params)) }
	got, err := c.Call(t.Context(), "a\"b", []byte(`{"n":1.0}`))
	if want := `{"z":12345678901234567890.50,"a":"\u0041"}`; err != nil || string(got) != want {
		t.Errorf("Call = %s, %v; want %s", got, err, want)
	}
	if diff := cmp.Diff([]string{`{"progressToken":1,"progress":1}`}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	c.to.Close()
	<-c.ended
	want := []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\"b","arguments":{"n":1.0},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"a","result":{}}`,
		`{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"Method not found"}}`,
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestRequestSaysWhyThereIsNoAnswer(t *testing.T) {
	tests := []struct {
		name, answer string
		want         *Error
		says         string
	}{
		{"a server's own error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":{"why":1.0}}}`,
			&Error{Code: -32000, Message: "no", Data: []byte(`{"why":1.0}`)}, "no"},
		{"an error of mcpx", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m","data":{"mcpx":{"reason":"r","server":"s","hint":"h","exit":"exit status 3","stderr":["a","b"]}}}}`,
			&Error{Code: -32603, Message: "m", Data: []byte(`{"mcpx":{"reason":"r","server":"s","hint":"h","exit":"exit status 3","stderr":["a","b"]}}`),
				Trouble: Trouble{Reason: "r", Server: "s", Fix: "h", Exit: "exit status 3", Stderr: []string{"a", "b"}}}, "m"},
		{"what only looks like one", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"mcpx":7}}}`,
			&Error{Code: 1, Message: "m", Data: []byte(`{"mcpx":7}`)}, "m"},
		{"an error of another shape", `{"jsonrpc":"2.0","id":1,"error":"no"}`, &Error{Message: `an error that cannot be read: "no"`}, `an error that cannot be read: "no"`},
		{"the other side is gone", "", nil, "the connection to the daemon ended: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := against(t, func(string) []string { return []string{tt.answer} })
			_, err := c.Request(t.Context(), "tools/list", nil)
			if err == nil || err.Error() != tt.says {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			got, _ := errors.AsType[*Error](err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestThatNobodyWaitsForIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 2)
	c := against(t, func(line string) []string {
		heard <- line
		cancel()
		return nil
	})
	if _, err := c.Request(ctx, "tools/call", []byte("{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("Request: %v, want canceled", err)
	}
	<-heard
	if got, want := <-heard, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"interrupted"}}`; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

func TestListIsAllPagesAsOne(t *testing.T) {
	endless := func(n int) string { return fmt.Sprintf(`{"tools":[{}],"nextCursor":"%d"}`, n) }
	tests := []struct {
		name  string
		pages func(n int) string
		want  string
		wrong string
	}{
		{"one page is as it came", func(int) string { return `{ "tools" : [ {"n":1.0} ], "nextCursor": null}` }, `{ "tools" : [ {"n":1.0} ], "nextCursor": null}`, ""},
		{"items of all, and the rest of the first", func(n int) string {
			return []string{`{"x":1.0,"nextCursor":"a\"","tools":[{"n":1e400}, {}]}`, `{"tools":[],"nextCursor":"b"}`, `{"tools":[{"m":2}],"x":2}`}[n]
		}, `{"x":1.0,"tools":[{"n":1e400},{},{"m":2}]}`, ""},
		{"none", func(int) string { return `{}` }, "", "tools/list: answered without a list of tools"},
		{"a circle", func(int) string { return endless(7) }, "", `tools/list: the list has no end: the server names cursor "7" again`},
		{"no end", endless, "", "tools/list: the list has no end within 1000 pages, 10000 items and 32 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			c := against(t, func(line string) []string {
				env, err := wire.Scan([]byte(line))
				if err != nil {
					t.Error(err)
				}
				n++
				return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, env.Bytes(env.ID), tt.pages(n-1))}
			})
			got, err := c.List(t.Context(), roof.Tools)
			wrong := ""
			if err != nil {
				wrong = err.Error()
			}
			if string(got) != tt.want || wrong != tt.wrong {
				t.Errorf("got %s, %q; want %s, %q", got, wrong, tt.want, tt.wrong)
			}
		})
	}
}

func TestHeldSaysEachThingOnce(t *testing.T) {
	for _, drop := range []bool{true, false} {
		var said []string
		h := held{say: func(line string) { said = append(said, line) }}
		fmt.Fprint(&h, "mcpx: a\n   hint: b\n")
		if len(said) != 0 {
			t.Errorf("said %q too early", said)
		}
		h.release(drop)
		fmt.Fprintln(&h, "c")
		want := []string{"mcpx: a", "   hint: b", "c"}
		if drop {
			want = want[2:]
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("drop %v (-want +got):\n%s", drop, diff)
		}
	}
}
