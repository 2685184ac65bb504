package wire

import (
	"strings"
	"testing"
)

func TestPeekIDFindsWhatIsCertain(t *testing.T) {
	big := strings.Repeat(`x\"y\\`, 1000)
	tests := []struct {
		name, line string
		id         string // "" when in doubt
		kind       Kind
	}{
		{"a request with its id first", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"` + big + `"}}`, `7`, Request},
		{"a request with its id last", `{"method":"m","params":{"a":"` + big + `"},"jsonrpc":"2.0","id":"seven"}`, `"seven"`, Request},
		{"a request of which only the params are seen", `{"params":{"a":"` + big + `"},"id":7}`, `7`, Request},
		{"a result with its id first", `{"jsonrpc":"2.0","id":7,"result":{"a":"` + big + `"}}`, `7`, Result},
		{"a result with its id last", "{\"result\":{\"a\":\"" + big + "\"} , \"jsonrpc\" : \"2.0\",\"id\" :-7 } \r", `-7`, Result},
		{"an error", `{"id":7,"error":{"message":"` + big + `"}}`, `7`, Error},
		{"a notification has none", `{"jsonrpc":"2.0","method":"m","params":{"a":"` + big + `"}}`, ``, Invalid},
		{"an id in a text is none", `{"method":"m","params":{"a":"` + big + `\",\"id\":7"}}`, ``, Invalid},
		{"an id further in is none", `{"method":"m","params":{"a":"` + big + `","id":7}}`, ``, Invalid},
		{"an id in an unseen member is none", `{"method":"m","params":{"a":"` + big + `"},"x":{"id":7}}`, ``, Invalid},
		{"two ids are none", `{"id":7,"method":"m","params":{"a":"` + big + `"},"id":8}`, ``, Invalid},
		{"two spellings are none", `{"id":7,"method":"m","params":{"a":"` + big + `"},"ID":7}`, ``, Invalid},
		{"a request and a result are neither", `{"id":7,"method":"m","result":{"a":"` + big + `"}}`, ``, Invalid},
		{"a fraction is none", `{"id":7.5,"method":"m","params":{"a":"` + big + `"}}`, ``, Invalid},
		{"a long id is cut", `{"method":"m","id":"` + strings.Repeat("7", 9000) + `"}`, ``, Invalid},
		{"a long number is cut", `{"method":"m","id":` + strings.Repeat("7", 9000) + `}`, ``, Invalid},
		{"no object", `["` + big + `",{"id":7,"method":"m"}]`, ``, Invalid},
		{"no JSON", big, ``, Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			head, tail := []byte(tt.line), []byte(tt.line)
			if len(tt.line) > 4096 {
				head, tail = head[:4096], tail[len(tail)-4096:]
			}
			id, kind, ok := PeekID(head, tail)
			if string(id) != tt.id || kind != tt.kind || ok != (tt.id != "") {
				t.Errorf("PeekID = %q, %v, %v; want %q, %v", id, kind, ok, tt.id, tt.kind)
			}
		})
	}
}

// FuzzPeekID: of a valid line cut anywhere, the id found is the line's own.
func FuzzPeekID(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"b"}}`,
		`{"result":{"a":"\",\"id\":8"},"jsonrpc":"2.0","id":"x"}`,
		`{"method":"m","params":{"id":12345},"id":12346}`,
	} {
		f.Add([]byte(line), 20, 20)
	}
	f.Fuzz(func(t *testing.T, line []byte, h, l int) {
		h, l = min(max(h, 0), len(line)), min(max(l, 0), len(line))
		id, kind, ok := PeekID(line[:h], line[len(line)-l:])
		env, err := Scan(line)
		if err != nil || !ok {
			return
		}
		if string(id) != string(env.Bytes(env.ID)) || kind != env.Kind {
			t.Errorf("PeekID(%q, %q) = %s, %v; the line has %s, %v", line[:h], line[len(line)-l:], id, kind, env.Bytes(env.ID), env.Kind)
		}
	})
}
