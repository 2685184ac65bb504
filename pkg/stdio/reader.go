package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Reader splits a stream at '\n' only, since JSON may hold U+2028. A CR before
// it and blank lines are dropped (reports H4, H5). It is for one goroutine.
type Reader struct {
	r   io.Reader
	max int
	buf []byte
	err error // what the stream ended with, once read to its end

	start, end int // the bytes of buf not yet handed out
	cutOff     bool
	searched   int // of those, how many are known to hold no newline
	last       int // the length of the line handed out before
	short      int // how many lines in a row would have fitted in the least buffer
}

// NewReader reads from r lines of at most max bytes; 0 means MaxLine.
func NewReader(r io.Reader, max int) *Reader {
	if max <= 0 {
		max = MaxLine
	}
	return &Reader{r: Direct(r), max: max}
}

// TooLong is a line over the cap: its first and last bytes (4 KiB each at most)
// and its size, without the line end.
type TooLong struct {
	Head, Tail []byte
	Size       int64
}

// kept is how much of each end of a line that is too long is kept.
const kept = 4 << 10

func (e *TooLong) Error() string { return fmt.Sprintf("line too long: %d bytes", e.Size) }

// ErrEndless is what a stream ends with after a line of more than so many times
// the cap: its writer will not come to an end, and whoever waits for what is to
// follow would wait for ever.
var ErrEndless = errors.New("a line without end")

const hopeless = 16

// Next returns the next line without its end, valid until the next call. An
// unterminated last line counts. A line over the cap is swallowed and returned
// as a *TooLong error, after which reading goes on: it costs only itself
// (report H1). Any other error is the stream's, io.EOF at its end, or ErrEndless.
func (r *Reader) Next() ([]byte, error) {
	r.shrink()
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if !blank(line) {
			r.last = len(line)
			return line, nil
		}
	}
}

// CutOff reports whether the line that Next returned last had no newline: the
// stream ended in it, or just behind it.
func (r *Reader) CutOff() bool { return r.cutOff }

// line returns the next line as it is, without its newline.
func (r *Reader) line() ([]byte, error) {
	for {
		unread := r.buf[r.start:r.end]
		n := bytes.IndexByte(unread[r.searched:], '\n')
		if n >= 0 {
			n += r.searched
			r.take(n + 1)
			r.cutOff = false
			if n > r.max {
				return nil, NewTooLong(unread[:n])
			}
			return unread[:n], nil
		}
		if r.searched = len(unread); r.searched > r.max {
			return nil, r.swallow()
		}
		if r.err != nil {
			r.take(len(unread))
			r.cutOff = true
			if len(unread) == 0 {
				return nil, r.err
			}
			return unread, nil
		}
		r.fill()
	}
}

// take marks n bytes as handed out.
func (r *Reader) take(n int) {
	r.start += n
	r.searched = 0
}

// fill makes room and reads once.
func (r *Reader) fill() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	switch {
	case r.buf == nil:
		r.resize(least)
	case r.end == len(r.buf):
		// One byte over the cap shows that a line is too long.
		r.resize(min(max(usual, 2*len(r.buf)), max(usual, r.max+1)))
	}
	r.end += r.read(r.buf[r.end:])
}

// resize moves what is unread into a buffer of size bytes.
func (r *Reader) resize(size int) {
	buf := make([]byte, size)
	r.end = copy(buf, r.buf[r.start:r.end])
	r.start, r.buf = 0, buf
}

// read reads something into b, or keeps the error the stream ended with.
func (r *Reader) read(b []byte) int {
	for range 100 {
		n, err := r.r.Read(b)
		r.err = err
		if n > 0 || err != nil {
			return n
		}
	}
	r.err = io.ErrNoProgress
	return 0
}

// swallow drops the line that begins the buffer, up to its newline.
func (r *Reader) swallow() error {
	long := NewTooLong(r.buf[r.start:r.end])
	r.take(r.end - r.start)
	for r.err == nil {
		r.start, r.end = 0, r.read(r.buf)
		chunk := r.buf[:r.end]
		n := bytes.IndexByte(chunk, '\n')
		if n >= 0 {
			chunk = chunk[:n]
		}
		long.Add(chunk)
		r.take(len(chunk))
		switch {
		case n >= 0:
			r.take(1)
			return long
		case long.Size > hopeless*int64(r.max):
			r.err = ErrEndless
		}
	}
	return long
}

// NewTooLong keeps the ends of a line, or of as much of it as has been read.
func NewTooLong(line []byte) *TooLong {
	return &TooLong{
		Head: slices.Clone(line[:min(kept, len(line))]),
		Tail: slices.Clone(line[max(0, len(line)-kept):]),
		Size: int64(len(line)),
	}
}

// Add goes on with more of the same line.
func (e *TooLong) Add(chunk []byte) {
	e.Size += int64(len(chunk))
	e.Head = append(e.Head, chunk[:min(len(chunk), kept-len(e.Head))]...)
	chunk = chunk[max(0, len(chunk)-kept):]
	keep := e.Tail[max(0, len(e.Tail)+len(chunk)-kept):]
	e.Tail = append(keep, chunk...)
}

// shrink gives a large buffer back once a usual line has gone by, and at once
// when it is huge, and a usual one after many short lines: hundreds of idle
// streams must not hold what one line needed.
func (r *Reader) shrink() {
	const (
		huge = 1 << 20
		many = 16
	)
	if r.short++; r.last >= least {
		r.short = 0
	}
	unread := r.end - r.start
	switch {
	case len(r.buf) > usual && unread <= usual/2 && (r.last <= usual || len(r.buf) > huge):
		r.resize(usual)
	case len(r.buf) > least && unread <= least/2 && r.short >= many:
		r.resize(least)
	}
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
