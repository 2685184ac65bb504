package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// read collects what a Reader makes of a stream: its lines, "…" followed by
// size, head and tail for one too long, and the error at the end.
func read(t testing.TB, r *Reader) (lines []string, end error) {
	t.Helper()
	for {
		line, err := r.Next()
		var long *TooLong
		switch {
		case errors.As(err, &long):
			lines = append(lines, "…"+long.Error()+string(long.Head)+string(long.Tail))
		case err != nil:
			return lines, err
		default:
			lines = append(lines, string(line))
		}
	}
}

func TestReaderSplitsLines(t *testing.T) {
	long := strings.Repeat("x", 3*usual)
	tests := []struct {
		name   string
		stream string
		max    int
		want   []string
	}{
		{"an empty stream has no lines", "", 0, nil},
		{"lines end at a newline", "a\nb\n", 0, []string{"a", "b"}},
		{"the last line may go without", "a\nb", 0, []string{"a", "b"}},
		{"a CR before the newline is dropped", "a\r\nb\r", 0, []string{"a", "b"}},
		{"a CR elsewhere stays", "a\rb\n", 0, []string{"a\rb"}},
		{"blank lines are dropped", "\n\r\n \t \na\n\n", 0, []string{"a"}},
		{"other line separators stay", "a\u2028b\u0085c\vd\n", 0, []string{"a\u2028b\u0085c\vd"}},
		{"a line larger than the buffer is whole", long + "\nb\n", 0, []string{long, "b"}},
		{"a line at the cap passes", "12345678\nb\n", 8, []string{"12345678", "b"}},
		{"a line over the cap costs only itself", "123456789\nb\n", 8, []string{"…line too long: 9 bytes123456789123456789", "b"}},
		{"of a line over a small cap both ends are kept", "1234567890\n", 5, []string{"…line too long: 10 bytes12345678901234567890"}},
		{"a last line over the cap is told", "123456789", 8, []string{"…line too long: 9 bytes123456789123456789"}},
		{
			"of a line far over the cap both ends are kept",
			strings.Repeat("h", kept) + long + strings.Repeat("t", kept) + "\nb\n", usual + 1,
			[]string{"…line too long: 204800 bytes" + strings.Repeat("h", kept) + strings.Repeat("t", kept), "b"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":      strings.NewReader(tt.stream),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)),
				"with its EOF": iotest.DataErrReader(strings.NewReader(tt.stream)),
			} {
				got, err := read(t, NewReader(r, tt.max))
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("lines read %s (-want +got):\n%s", how, diff)
				}
				if err != io.EOF {
					t.Errorf("read %s: ended with %v, want EOF", how, err)
				}
			}
		})
	}
}

func TestReaderTellsALineThatWasCutOff(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []bool
	}{
		{"no line is", "a\nb\n", []bool{false, false}},
		{"the last one is", "a\nb", []bool{false, true}},
		{"the only one is", "a", []bool{true}},
		{"blanks behind it are no line", "a\n ", []bool{false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []bool
			r := NewReader(strings.NewReader(tt.stream), 0)
			for {
				if _, err := r.Next(); err != nil {
					break
				}
				got = append(got, r.CutOff())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("CutOff, line by line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderEndsWithTheStreamsError(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(t, NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0))
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" || err != broken {
		t.Errorf("error %v, want %v; lines (-want +got):\n%s", err, broken, diff)
	}
}

func TestReaderGivesUpOnALineWithoutEnd(t *testing.T) {
	const max = usual + 1
	long := strings.Repeat("x", hopeless*max)
	for _, tt := range []struct {
		name, stream string
		want         int // lines
		err          error
	}{
		{"one that ends in time costs only itself", long + "\nb\n", 2, io.EOF},
		{"one that does not ends the stream", long + "x" + strings.Repeat("x", usual) + "\nb\n", 1, ErrEndless},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, NewReader(strings.NewReader(tt.stream), max))
			if len(got) != tt.want || err != tt.err {
				t.Errorf("got %d lines and %v, want %d and %v", len(got), err, tt.want, tt.err)
			}
		})
	}
}

func TestReaderGivesUpOnAReaderThatReadsNothing(t *testing.T) {
	_, err := NewReader(idle{}, 0).Next()
	if err != io.ErrNoProgress {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderGivesLargeBuffersBack(t *testing.T) {
	tests := []struct {
		name  string
		large int // the length of the line before a usual one
		held  int // the buffer's size after the large line's turn is over
		after int // and after the usual line's
	}{
		{"a huge line's at once", 5 << 20, usual, usual},
		{"a large line's once a usual line went by", 300 << 10, 512 << 10, usual},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// One line a read, so that the next one is not in the buffer yet.
			r := NewReader(io.MultiReader(
				strings.NewReader(strings.Repeat("x", tt.large)+"\n"),
				strings.NewReader("a\n"), strings.NewReader("b\n"),
			), 0)
			for _, want := range []int{0, tt.held, tt.after} {
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
				if want != 0 && len(r.buf) != want {
					t.Errorf("buffer of %d bytes, want %d", len(r.buf), want)
				}
			}
		})
	}
}

func TestReaderHoldsLittleWhileLinesAreShort(t *testing.T) {
	short := strings.Repeat("a\n", 100)
	r := NewReader(io.MultiReader(strings.NewReader(short), strings.NewReader(strings.Repeat("x", usual/2)+"\n"), strings.NewReader(short)), 0)
	read := func(lines, want int) {
		t.Helper()
		for range lines {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.buf) != want {
			t.Errorf("buffer of %d bytes, want %d", len(r.buf), want)
		}
	}
	read(100, least)
	read(1, usual)
	read(5, usual) // a stream that changes between long and short keeps its buffer
	read(95, least)
}

func TestReaderAllocatesNothingForALine(t *testing.T) {
	r := NewReader(&endless{line: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r\n")}, 0)
	if n := testing.AllocsPerRun(10000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a line, want 0", n)
	}
}

// endless repeats a line for ever.
type endless struct {
	line []byte
	at   int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		m := copy(b[n:], e.line[e.at:])
		n += m
		e.at = (e.at + m) % len(e.line)
	}
	return n, nil
}

// FuzzReader holds the Reader against a naive one, however the stream is cut.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"", "a\nb\r\n\n \nc", "123456789\nb", "\r\r\n", "123456789\r\n\n12345678\r\n"} {
		f.Add([]byte(s), []byte{1, 3, 0, 200})
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		const max = 8
		var want []string
		for line := range bytes.SplitSeq(stream, []byte("\n")) {
			if len(line) > hopeless*max {
				return // whether the stream ends there hangs on how it is cut
			}
			if len(line) > max {
				want = append(want, "…"+NewTooLong(line).Error()+string(NewTooLong(line).Head)+string(NewTooLong(line).Tail))
				continue
			}
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(bytes.Trim(line, " \t\r")) > 0 {
				want = append(want, string(line))
			}
		}
		got, err := read(t, NewReader(&cut{b: stream, sizes: cuts}, max))
		if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
			t.Errorf("ended with %v; lines of %q (-want +got):\n%s", err, stream, diff)
		}
	})
}

// cut gives b out in pieces of the given sizes, over and over.
type cut struct {
	b, sizes []byte
	n        int
}

func (c *cut) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(c.sizes) > 0 {
		size = max(1, int(c.sizes[c.n%len(c.sizes)]))
	}
	c.n++
	n := copy(p[:min(size, len(p))], c.b)
	c.b = c.b[n:]
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	for _, bb := range []struct {
		name string
		size int
	}{{"64B", 64}, {"64KiB", 64 << 10}, {"5MiB", 5 << 20}} {
		b.Run(bb.name, func(b *testing.B) {
			r := NewReader(&endless{line: append(bytes.Repeat([]byte("x"), bb.size-1), '\n')}, 0)
			b.ReportAllocs()
			b.SetBytes(int64(bb.size))
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
