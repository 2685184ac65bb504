package shim

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHead(t *testing.T) {
	tests := []struct {
		name, in string
		status   int
		length   int64
		rest     string
		err      string
	}{
		{"a 101 leaves what follows it", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: mcpx/1\r\n\r\n{\"adopted\":true}\n", 101, maxBody, "{\"adopted\":true}\n", ""},
		{"the length is read in any case of letters", "HTTP/1.1 409 Conflict\r\ncontent-LENGTH:  2 \r\n\r\n{}", 409, 2, "{}", ""},
		{"no reason", "HTTP/1.1 404\r\n\r\n", 404, maxBody, "", ""},
		{"bare newlines", "HTTP/1.0 200 OK\n\n", 200, maxBody, "", ""},
		{"another protocol", "SSH-2.0-x\r\n\r\n", 0, 0, "", notMcpx().Error()},
		{"a status that is none", "HTTP/1.1 ok\r\n\r\n", 0, 0, "", notMcpx().Error()},
		{"a bad length", "HTTP/1.1 400 Bad\r\nContent-Length: -1\r\n\r\n", 0, 0, "", notMcpx().Error()},
		{"a line without end", "HTTP/1.1 400 " + strings.Repeat("x", 10000), 0, 0, "", notMcpx().Error()},
		{"the end in the middle", "HTTP/1.1 101 Swi", 0, 0, "", io.EOF.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(tt.in)))
			status, length, err := head(r)
			if err != nil {
				if err.Error() != tt.err {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			rest, _ := io.ReadAll(r)
			if status != tt.status || length != tt.length || string(rest) != tt.rest || tt.err != "" {
				t.Errorf("got %d, %d, then %q; want %d, %d, then %q, error %q", status, length, rest, tt.status, tt.length, tt.rest, tt.err)
			}
		})
	}
}

func FuzzHead(f *testing.F) {
	f.Add("HTTP/1.1 101 Switching Protocols\r\nUpgrade: mcpx/1\r\n\r\nrest")
	f.Add("HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, in string) {
		r := bufio.NewReader(strings.NewReader(in))
		_, length, err := head(r)
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(r)
		if length < 0 || !strings.HasSuffix(in, "\n"+string(rest)) {
			t.Errorf("length %d; %q is not what follows the head of %q", length, rest, in)
		}
	})
}
