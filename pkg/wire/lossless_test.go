package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestTheTableIsLossless takes each frame of the table, and one of 5 MiB,
// through what mcpx does to a line: it arrives as it was but for the id and
// the token (design D7, reports H1, H6, H8).
func TestTheTableIsLossless(t *testing.T) {
	for _, name := range []string{"host", "server"} {
		table, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range table.Files {
			t.Run(name+"/"+frame.Name, func(t *testing.T) { checkLossless(t, frame.Data) })
		}
	}
	t.Run("five megabytes", func(t *testing.T) {
		checkLossless(t, []byte(`{"jsonrpc":"2.0","id":"@id","result":{"content":[{"type":"text","text":"`+
			strings.Repeat(`0123456789abcdé\n`, 5<<20/17)+`"}]}}`+"\n"))
	})
}

func checkLossless(t *testing.T, frame []byte) {
	line, ended := bytes.CutSuffix(frame, []byte("\n"))
	if !ended || bytes.ContainsAny(line, "\n\r") || !json.Valid(line) {
		t.Fatal("a section holds one JSON line and its end")
	}
	env, err := Scan(line)
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Append(nil); !bytes.Equal(got, frame) {
		t.Errorf("without edits it became %.200q", got)
	}
	id, token := env.Bytes(env.ID), env.Bytes(env.ProgressToken)
	if token == nil {
		token = env.Bytes(env.Token)
	}
	there := env.Append(nil, Edit{env.ID, []byte("1234567")}, Edit{env.ProgressToken, []byte("1234567")}, Edit{env.Token, []byte("1234567")})
	other, err := Scan(there[:len(there)-1])
	if err != nil {
		t.Fatalf("with another id it is refused: %v", err)
	}
	back := other.Append(nil, Edit{other.ID, id}, Edit{other.ProgressToken, token}, Edit{other.Token, token})
	if !bytes.Equal(back, frame) {
		t.Errorf("there and back (-want +got):\n%.2000s", cmp.Diff(string(frame), string(back)))
	}
	if id != nil && bytes.Contains(there, append([]byte(`"id":`), id...)) {
		t.Errorf("the other side sees the id %s", id)
	}
}
