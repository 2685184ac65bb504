package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// event is one of a text/event-stream.
type event struct {
	kind string // "" means "message"
	data []byte // valid until the next
}

// byteOrderMark may stand before the first line and is no part of it.
const byteOrderMark = "\ufeff"

// errTooLarge is a body or an event over the cap.
var errTooLarge = errors.New("over the limit")

// events reads a text/event-stream as the HTML standard has it: lines end in LF,
// CR or CRLF, and an event that the end cuts off is none.
type events struct {
	r     *bufio.Reader
	limit int

	id    string        // of the last event that had one
	retry time.Duration // what the server asked for last, 0 when it did not

	line   []byte
	data   []byte
	afterR bool // the last line ended in CR: an LF that follows is part of its end
	begun  bool
}

func newEvents(r io.Reader, limit int) *events {
	return &events{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// next returns the next event that has data; io.EOF at the end.
func (e *events) next() (event, error) {
	var kind string
	e.data = e.data[:0]
	pending := e.id
	some := false
	for {
		if err := e.readLine(); err != nil {
			return event{}, err
		}
		if len(e.line) == 0 {
			e.id = pending
			if some {
				return event{kind: kind, data: bytes.TrimSuffix(e.data, []byte("\n"))}, nil
			}
			kind = ""
			continue
		}
		name, value, _ := bytes.Cut(e.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(e.data)+len(value) > e.limit {
				return event{}, errTooLarge
			}
			some = true
			e.data = append(append(e.data, value...), '\n')
		case "event":
			kind = string(value)
		case "id":
			if len(value) <= maxHeader/8 && bytes.IndexByte(value, 0) < 0 {
				pending = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// readLine reads up to the next line end into line. What stands before the end
// of the stream without one is no line.
func (e *events) readLine() error {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return err
		}
		chunk, _ := e.r.Peek(e.r.Buffered())
		if e.afterR {
			e.afterR = false
			if chunk[0] == '\n' {
				e.discard(1)
				continue
			}
		}
		if !e.begun {
			e.begun = true
			if mark, _ := e.r.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
				e.discard(len(mark))
				continue
			}
			chunk, _ = e.r.Peek(e.r.Buffered())
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			end = len(chunk)
		}
		if len(e.line)+end > e.limit {
			return errTooLarge
		}
		e.line = append(e.line, chunk[:end]...)
		if end < len(chunk) {
			e.afterR = chunk[end] == '\r'
			e.discard(end + 1)
			return nil
		}
		e.discard(end)
	}
}

func (e *events) discard(n int) { _, _ = e.r.Discard(n) } // it is buffered

// readAll reads a body of at most limit bytes, whatever it was compressed from.
func readAll(r io.Reader, limit int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(body) > limit {
		err = errTooLarge
	}
	return body, err
}

// oneLine makes one line of a JSON text: between its tokens, and nowhere else, a
// line end is space (protocol §8).
func oneLine(text []byte) []byte {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	return bytes.TrimSpace(text)
}
