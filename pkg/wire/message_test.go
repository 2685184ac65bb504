package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessagesAreWholeLines(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		got        []byte
	}{
		{"a result", `{"jsonrpc":"2.0","id":"a","result":{}}`, AppendResult(nil, []byte(`"a"`), []byte(`{}`))},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`, AppendError(nil, []byte(`1`), -32603, "no", nil)},
		{"an error with data", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":[1]}}`, AppendError(nil, []byte(`1`), -32603, "no", []byte(`[1]`))},
		{"an error for nobody", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, AppendError(nil, nil, -32700, "no", nil)},
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, AppendRequest(nil, []byte(`1`), "m", []byte(`{}`))},
		{"a request without params", `{"jsonrpc":"2.0","id":1,"method":"m"}`, AppendRequest(nil, []byte(`1`), "m", nil)},
		{"a notification", `{"jsonrpc":"2.0","method":"m","params":{}}`, AppendNotification(nil, "m", []byte(`{}`))},
		{"a text with everything in it", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\"\\\n\t\u0000\u001f<é😀�>"}}`,
			AppendError(nil, []byte(`1`), 1, "\"\\\n\t\x00\x1f<é😀\xff>", nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if string(tt.got) != tt.want+"\n" {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
			if _, err := Scan(tt.got); err != nil {
				t.Errorf("Scan(%s): %v", tt.got, err)
			}
		})
	}
}

func TestBatchIsSplit(t *testing.T) {
	const line = ` [ {"id":1,"method":"a"} ,2, [] ] `
	if !IsBatch([]byte(line)) || IsBatch([]byte(` {"a":[]}`)) || IsBatch(nil) {
		t.Error("IsBatch does not know an array from the rest")
	}
	got, err := Batch([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]byte{[]byte(`{"id":1,"method":"a"}`), []byte(`2`), []byte(`[]`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Batch (-want +got):\n%s", diff)
	}
}

func TestABrokenBatchIsRefusedWhole(t *testing.T) {
	for line, want := range map[string]ScanError{
		`[]`:                       {Code: CodeInvalid, Msg: "not a batch with something in it"},
		`{}`:                       {Code: CodeInvalid, Msg: "not a batch with something in it"},
		`[{"id":1,"method":"a"},]`: {Code: CodeParse, Msg: "not valid JSON at byte 23"},
		`[1] 2`:                    {Code: CodeParse, Msg: "not valid JSON at byte 4"},
		"[\"\xff\"]":               {Code: CodeParse, Msg: "not valid UTF-8"},
		strings.Repeat("[", 513) + strings.Repeat("]", 513): {Code: CodeParse, Msg: "nested deeper than 512 levels"},
	} {
		_, err := Batch([]byte(line))
		var got *ScanError
		if !errors.As(err, &got) {
			t.Errorf("Batch(%s): %v, want a ScanError", line, err)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("Batch(%s) (-want +got):\n%s", line, diff)
		}
	}
}
