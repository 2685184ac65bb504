package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// benchLines are a small call, results made of text, of structure and of
// escapes, and the largest line the proofs use.
func benchLines() []struct {
	name string
	line []byte
} {
	result := func(content string) []byte {
		return []byte(`{"jsonrpc":"2.0","id":42,"result":{"content":` + content + `}}`)
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1500)
	var rows strings.Builder
	for i := range 900 {
		fmt.Fprintf(&rows, `,{"name":"tool_%d","inputSchema":{"type":"object","n":[%d,-1.5e3,true]}}`, i, i)
	}
	return []struct {
		name string
		line []byte
	}{
		{"64B", []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`)},
		{"64KiB text", result(`[{"type":"text","text":"` + text + `"}]`)},
		{"64KiB structure", result(`[` + rows.String()[1:] + `]`)},
		{"64KiB escapes", result(`[{"type":"text","text":"` + strings.Repeat(`if x {\n\t\treturn \"y\"\n}`, 2500) + `"}]`)},
		{"64KiB Chinese", result(`[{"type":"text","text":"` + strings.Repeat("工具返回的文本", 3100) + `"}]`)},
		{"5MiB text", result(`[{"type":"text","text":"` + strings.Repeat(text, 78) + `"}]`)},
	}
}

func BenchmarkScan(b *testing.B) {
	for _, bb := range benchLines() {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.line)))
			for b.Loop() {
				if _, err := Scan(bb.line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJSONValid is the peer: encoding/json, which only says yes or no.
func BenchmarkJSONValid(b *testing.B) {
	for _, bb := range benchLines() {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.line)))
			for b.Loop() {
				if !json.Valid(bb.line) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range benchLines() {
		b.Run(bb.name, func(b *testing.B) {
			env, err := Scan(bb.line)
			if err != nil {
				b.Fatal(err)
			}
			id, token := []byte("123456"), []byte("7")
			dst := make([]byte, 0, len(bb.line)+64)
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.line)))
			for b.Loop() {
				dst = env.Append(dst[:0], Edit{env.ID, id}, Edit{env.ProgressToken, token})
			}
		})
	}
}

func BenchmarkCanonicalID(b *testing.B) {
	for _, id := range []string{`123456`, `"7c4a8d09-ca37-62af-61e5-9520943dc264"`} {
		b.Run(id, func(b *testing.B) {
			raw := []byte(id)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := CanonicalID(raw); !ok {
					b.Fatal("not an id")
				}
			}
		})
	}
}
