package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// ErrFull is returned when lines do not fit in the queue.
var ErrFull = errors.New("too much waits to be written")

// Writer writes whole lines. A line that the pipe does not take at once is
// copied and written by a goroutine of the Writer's own, in order. The goroutine
// lives only while something waits.
type Writer struct {
	w       io.Writer
	max     int
	writing func(bool)     // see OnWriting
	passed  func(uint64)   // see OnWritten
	wg      sync.WaitGroup // the drain

	mu      sync.Mutex // guards what follows; held over a write only when that cannot block
	try     tryWrite
	queue   []byte // waits behind what the drain has taken
	taken   int    // how much of what the drain has taken is unwritten
	busy    bool   // the drain runs
	midLine bool
	in, out uint64        // bytes taken and written so far
	drained chan struct{} // made when somebody asks
	done    chan struct{}
	err     error
}

// NewWriter writes to w. If w is a syscall.Conn (an *os.File in non-blocking
// mode, a unix socket) lines are tried without blocking first; else all go by
// the goroutine. At most maxQueued bytes wait; 0 means MaxLine.
func NewWriter(w io.Writer, maxQueued int) *Writer {
	if maxQueued <= 0 {
		maxQueued = MaxLine
	}
	sw := &Writer{w: w, max: maxQueued, writing: func(bool) {}, passed: func(uint64) {}, done: make(chan struct{})}
	sw.try.init(w)
	return sw
}

// OnWriting has f told when writing begins and when all that was to be written is:
// a process that dies in between may leave half a line. It is called before the
// first Write, and f must not block.
func (w *Writer) OnWriting(f func(now bool)) { w.writing = f }

// OnWritten has f told how many bytes have been written in all, each time some
// of those that had to wait are. It is called before the first Write, and f must
// not write.
func (w *Writer) OnWritten(f func(total uint64)) { w.passed = f }

// Position is how many bytes have been taken and how many of them written.
func (w *Writer) Position() (taken, written uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.in, w.out
}

// Write takes one or more whole lines, newline included. It never blocks. It
// returns ErrFull when something waits already and they do not fit in the queue,
// or the error that ended the stream; nothing of them is written then. Into an
// empty queue any size fits, or the largest line could not pass. Safe for
// concurrent use; it keeps nothing of lines.
func (w *Writer) Write(lines []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	waiting := w.taken + len(w.queue)
	if waiting > 0 && waiting+len(lines) > w.max {
		return ErrFull
	}
	if waiting == 0 && !w.busy {
		w.writing(true)
		n, err := w.try.write(lines)
		if err != nil {
			w.failLocked(err)
			return err
		}
		w.in += uint64(n)
		w.wroteLocked(lines[:n])
		if lines = lines[n:]; len(lines) == 0 {
			w.writing(false)
		}
	}
	if len(lines) > 0 {
		w.in += uint64(len(lines))
		w.queue = append(w.queue, lines...)
		w.startLocked()
	}
	return nil
}

// Queued is the number of bytes waiting.
func (w *Writer) Queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken + len(w.queue)
}

// MidLine reports whether the last byte written was inside a line: whoever
// writes to the same stream next must begin with a newline (design D8).
func (w *Writer) MidLine() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.midLine
}

// Drained returns a channel that is closed once nothing waits, or the stream ended.
func (w *Writer) Drained() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.drained != nil {
		return w.drained
	}
	c := make(chan struct{})
	if w.err != nil || w.taken+len(w.queue) == 0 {
		close(c)
	} else {
		w.drained = c
	}
	return c
}

// Done is closed when the stream ended: a write failed, or Close was called.
func (w *Writer) Done() <-chan struct{} { return w.done }

// Err is what ended the stream: nil while it is open, os.ErrClosed after Close.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close drops what waits and ends the goroutine. It does not close w. A write in
// progress is cut short by a deadline, which is taken back afterwards; if w has
// no deadlines, Close waits for that write, so close w first.
func (w *Writer) Close() {
	w.mu.Lock()
	w.failLocked(os.ErrClosed)
	busy := w.busy
	w.mu.Unlock()
	if !busy {
		w.wg.Wait()
		return
	}
	d, ok := w.w.(interface{ SetWriteDeadline(time.Time) error })
	if ok && d.SetWriteDeadline(time.Unix(1, 0)) == nil {
		defer d.SetWriteDeadline(time.Time{})
	}
	w.wg.Wait()
}

func (w *Writer) startLocked() {
	if !w.busy {
		w.busy = true
		w.wg.Go(w.drain)
	}
}

// drain writes what waits until nothing does, or the stream ends. It writes line
// by line, so that it is known which have been written when the process dies,
// and long lines in pieces, so that Queued moves.
func (w *Writer) drain() {
	const piece = 256 << 10
	var lines []byte
	for w.take(&lines) {
		for rest := lines; len(rest) > 0; {
			n := min(bytes.IndexByte(rest[:min(piece, len(rest))], '\n')+1, piece)
			if n == 0 {
				n = min(piece, len(rest))
			}
			n, err := w.w.Write(rest[:n])
			total, ok := w.wrote(rest[:n], err)
			if !ok {
				return
			}
			w.passed(total)
			rest = rest[n:]
		}
	}
}

// take swaps the queue for the written buffer. It is false when nothing waits,
// and the drain is over.
func (w *Writer) take(lines *[]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || len(w.queue) == 0 {
		w.busy = false
		if w.err == nil {
			w.writing(false)
		}
		w.emptiedLocked()
		if cap(w.queue) > usual {
			w.queue = nil
		}
		return false
	}
	*lines, w.queue = w.queue, (*lines)[:0]
	w.taken = len(*lines)
	return true
}

// wrote counts what was written. It is false when the stream ended.
func (w *Writer) wrote(written []byte, err error) (total uint64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wroteLocked(written)
	if err == nil && len(written) == 0 {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.failLocked(err)
	}
	if w.err != nil {
		w.busy = false
		return w.out, false
	}
	w.taken -= len(written)
	return w.out, true
}

func (w *Writer) wroteLocked(written []byte) {
	if n := len(written); n > 0 {
		w.midLine = written[n-1] != '\n'
		w.out += uint64(n)
	}
}

// failLocked ends the stream; the first cause stays.
func (w *Writer) failLocked(err error) {
	if w.err != nil {
		return
	}
	w.err = err
	w.queue, w.taken = nil, 0
	w.emptiedLocked()
	close(w.done)
}

func (w *Writer) emptiedLocked() {
	if w.drained != nil {
		close(w.drained)
		w.drained = nil
	}
}
