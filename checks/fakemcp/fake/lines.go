package fake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// serve reads lines until there are no more.
func (s *server) serve() {
	in := s.in
	if s.slowRead {
		in = slowReader{in}
	}
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && s.record != "" {
			s.appendTo(s.record, line)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			s.note("in", json.RawMessage(loggable(line)))
			var m message
			if json.Unmarshal(line, &m) == nil {
				m.line = bytes.TrimSpace(line)
				s.handle(m)
			}
		}
		if err != nil {
			if err != io.EOF {
				s.note("read error", err.Error())
			}
			return
		}
	}
}

// slowReader makes a sender's pipe fill.
type slowReader struct{ r io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return s.r.Read(p[:min(len(p), 1<<10)])
}

// loggable is the line, or a JSON string that tells of it.
func loggable(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if len(line) > 4096 {
		b, _ := json.Marshal(fmt.Sprintf("%s… (%d bytes)", line[:200], len(line)))
		return b
	}
	if !json.Valid(line) {
		b, _ := json.Marshal(string(line))
		return b
	}
	return line
}

// write writes one message, with the faults of writing.
func (s *server) write(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	if s.pretty {
		var buf bytes.Buffer
		_ = json.Indent(&buf, b, "", "  ")
		b = buf.Bytes()
	}
	if s.batch {
		b = append(append([]byte("["), b...), ']')
	}
	s.outMu.Lock()
	defer s.outMu.Unlock()
	s.flood(s.errEach)
	if s.garbage {
		_, _ = io.WriteString(s.out, "[debug] about to answer \x1b[31mred\x1b[0m {not json\n")
	}
	if s.blank {
		b = append([]byte("\r\n\n"), append(b, '\r')...)
	}
	b = append(b, '\n')
	switch {
	case s.byByte:
		for i := range b {
			_, _ = s.out.Write(b[i : i+1])
		}
	case s.split:
		for len(b) > 0 {
			n := min(7, len(b))
			_, _ = s.out.Write(b[:n])
			b = b[n:]
			time.Sleep(time.Millisecond)
		}
	default:
		_, _ = s.out.Write(b)
	}
}

// raw writes lines that are no messages.
func (s *server) raw(lines []byte) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_, _ = s.out.Write(lines)
}

func (s *server) answer(id json.RawMessage, result any) {
	out := id
	if s.stringID && len(id) > 0 && id[0] != '"' {
		out, _ = json.Marshal(string(id))
	}
	s.write(object{"jsonrpc": "2.0", "id": out, "result": result})
}

func (s *server) fail(id json.RawMessage, code int, text string) {
	s.write(object{"jsonrpc": "2.0", "id": id, "error": object{"code": code, "message": text}})
}

func (s *server) notify(method string, params object) {
	m := object{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	s.write(m)
}
