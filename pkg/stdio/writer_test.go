package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// pair is a connected pair of unix sockets.
func pair(t testing.TB) (r, w net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]net.Conn, 2)
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// mustRead reads as many bytes as want has, and compares them.
func mustRead(t *testing.T, r io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read other bytes than were written (%d)", len(want))
	}
}

func line(size int) []byte { return append(bytes.Repeat([]byte("x"), size-1), '\n') }

func TestWriteGoesStraightToAPipeWithRoom(t *testing.T) {
	r, p := pipe(t)
	w := NewWriter(p, 0)
	defer w.Close()
	if err := w.Write(line(100)); err != nil {
		t.Fatal(err)
	}
	if n := w.Queued(); n != 0 {
		t.Errorf("%d bytes queued, want 0", n)
	}
	mustRead(t, r, line(100))
}

func TestWriteAllocatesNothingWhenThePipeHasRoom(t *testing.T) {
	r, p := pipe(t)
	w := NewWriter(p, 0)
	defer w.Close()
	l, buf := line(100), make([]byte, 100)
	if n := testing.AllocsPerRun(1000, func() {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a line, want 0", n)
	}
}

func TestAFullPipeNeverBlocksAndLosesNothing(t *testing.T) {
	rf, pf := pipe(t)
	rs, ps := pair(t)
	for name, ends := range map[string]struct {
		r io.Reader
		w io.Writer
	}{"pipe": {rf, pf}, "socket": {rs, ps}} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter(ends.w, 0)
			defer w.Close()
			want := bytes.Join([][]byte{line(1 << 20), line(10), line(3 << 20)}, nil)
			for _, l := range [][]byte{line(1 << 20), line(10), line(3 << 20)} {
				if err := w.Write(l); err != nil {
					t.Fatal(err)
				}
			}
			drained := w.Drained()
			select {
			case <-drained:
				t.Error("drained before anybody read")
			default:
			}
			if n := w.Queued(); n == 0 || n >= len(want) {
				t.Errorf("%d of %d bytes queued, want some and not all", n, len(want))
			}
			mustRead(t, ends.r, want)
			<-drained
			if w.MidLine() {
				t.Error("in the middle of a line after whole lines")
			}
			w.wg.Wait()
			if err := w.Write(line(10)); err != nil || w.Queued() != 0 {
				t.Errorf("after the drain: %v, %d queued; want a direct write", err, w.Queued())
			}
			mustRead(t, ends.r, line(10))
		})
	}
}

func TestWriteOverTheLimitIsRefusedWhole(t *testing.T) {
	r, p := pipe(t)
	w := NewWriter(p, 1000)
	defer w.Close()
	first := line(1 << 20)
	if err := w.Write(first); err != nil {
		t.Fatalf("into an empty queue: %v, want any size taken", err)
	}
	if err := w.Write([]byte("no\n")); err != ErrFull {
		t.Fatalf("behind a full queue: %v, want %v", err, ErrFull)
	}
	mustRead(t, r, first)
	<-w.Drained()
	if err := w.Write([]byte("yes\n")); err != nil {
		t.Fatal(err)
	}
	mustRead(t, r, []byte("yes\n"))
}

func TestAClosedReaderEndsTheStream(t *testing.T) {
	for _, size := range []int{10, 1 << 20} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			r, p := pipe(t)
			w := NewWriter(p, 0)
			defer w.Close()
			if size < 100 {
				r.Close()
				if err := w.Write(line(size)); !errors.Is(err, syscall.EPIPE) {
					t.Errorf("Write: %v, want EPIPE", err)
				}
			} else {
				if err := w.Write(line(size)); err != nil {
					t.Fatal(err)
				}
				drained := w.Drained()
				r.Close()
				<-drained
			}
			<-w.Done()
			if err := w.Err(); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("Err: %v, want EPIPE", err)
			}
			if err := w.Write(line(1)); !errors.Is(err, syscall.EPIPE) || w.Queued() != 0 {
				t.Errorf("Write afterwards: %v with %d queued, want EPIPE with none", err, w.Queued())
			}
		})
	}
}

func TestCloseCutsAWriteShortAndLeavesThePipeUsable(t *testing.T) {
	r, p := pipe(t)
	w := NewWriter(p, 0)
	if err := w.Write(line(1 << 20)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := w.Err(); err != os.ErrClosed {
		t.Errorf("Err: %v, want %v", err, os.ErrClosed)
	}
	if err := w.Write(line(1)); err != os.ErrClosed {
		t.Errorf("Write: %v, want %v", err, os.ErrClosed)
	}
	if !w.MidLine() {
		t.Error("not in the middle of a line, though it was cut short")
	}
	<-w.Drained()
	if _, err := io.CopyN(io.Discard, r, 32<<10); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("next")); err != nil {
		t.Errorf("the pipe, after Close: %v", err)
	}
	w.Close()
}

func TestLinesOfManyWritersStayWhole(t *testing.T) {
	const writers, each = 8, 50
	r, p := pipe(t)
	w := NewWriter(p, 0)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				text := fmt.Sprintf("%d %d %s\n", i, n, strings.Repeat(string(rune('a'+i)), 1+n*100))
				if err := w.Write([]byte(text)); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		next := make([]int, writers)
		lines := NewReader(r, 0)
		for range writers * each {
			line, err := lines.Next()
			if err != nil {
				t.Errorf("reader: %v", err)
				return
			}
			var i, n int
			var text string
			if _, err := fmt.Sscanf(string(line), "%d %d %s", &i, &n, &text); err != nil {
				t.Errorf("line %.40q: %v", line, err)
				continue
			}
			if n != next[i] || text != strings.Repeat(string(rune('a'+i)), 1+n*100) {
				t.Errorf("writer %d: line %d out of order or mixed, want line %d", i, n, next[i])
			}
			next[i]++
		}
	})
	wg.Wait()
	<-w.Drained()
	w.Close()
}

func TestABlockingDescriptorIsLeftToTheGoroutine(t *testing.T) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, p := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	defer p.Close()
	w := NewWriter(p, 0)
	if err := w.Write(line(1 << 20)); err != nil {
		t.Fatal(err)
	}
	mustRead(t, r, line(1<<20))
	<-w.Drained()
	w.Close()
}

func TestAWriterWithoutADescriptorIsWrittenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := io.Pipe()
		w := NewWriter(p, 0)
		for _, s := range []string{"a\n", "b\n", "c\n"} {
			if err := w.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := w.Queued(); n != 6 {
			t.Errorf("%d bytes queued before anybody read, want 6", n)
		}
		mustRead(t, r, []byte("a\nb\nc\n"))
		<-w.Drained()
		if err := w.Write([]byte("d\n")); err != nil {
			t.Fatal(err)
		}
		p.CloseWithError(io.ErrClosedPipe)
		w.Close()
	})
}

func TestAWriterThatWritesNothingEndsTheStream(t *testing.T) {
	w := NewWriter(stuck{}, 0)
	defer w.Close()
	if err := w.Write(line(10)); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if err := w.Err(); err != io.ErrShortWrite {
		t.Errorf("got %v, want %v", err, io.ErrShortWrite)
	}
}

type stuck struct{}

func (stuck) Write([]byte) (int, error) { return 0, nil }

func BenchmarkWriter(b *testing.B) {
	for _, bb := range []struct {
		name string
		size int
	}{{"64B", 64}, {"64KiB", 64 << 10}, {"5MiB", 5 << 20}} {
		b.Run(bb.name, func(b *testing.B) {
			r, p := pipe(b)
			var wg sync.WaitGroup
			wg.Go(func() {
				buf := make([]byte, 1<<20)
				for {
					if _, err := r.Read(buf); err != nil {
						return
					}
				}
			})
			w, l := NewWriter(p, 0), line(bb.size)
			b.ReportAllocs()
			b.SetBytes(int64(bb.size))
			for b.Loop() {
				if err := w.Write(l); err == ErrFull {
					<-w.Drained()
				} else if err != nil {
					b.Fatal(err)
				}
			}
			<-w.Drained()
			w.Close()
			p.Close()
			wg.Wait()
		})
	}
}
