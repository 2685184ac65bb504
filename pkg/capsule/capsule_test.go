package capsule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/socket"
	"github.com/dezren39/mcpx/pkg/stdio"
)

// newFile is a capsule as a shim makes it.
func newFile(t testing.TB) *os.File {
	t.Helper()
	f, err := socket.NewCapsule()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// open opens the capsule as one daemon of several does: on a descriptor of its own.
func open(t testing.TB, f *os.File, in io.Reader) *Capsule {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(os.NewFile(uintptr(fd), "capsule"), in, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// all reads to the end and returns the lines, "!" before the replayed ones.
func all(t testing.TB, c *Capsule) (lines []string, marks []int64) {
	t.Helper()
	for {
		l, err := c.Next()
		if err == io.EOF {
			return lines, marks
		}
		if err != nil {
			t.Fatal(err)
		}
		text := string(l.Bytes)
		if l.Replayed {
			text = "!" + text
		}
		lines, marks = append(lines, text), append(marks, l.Mark)
	}
}

func TestLinesAreReadAsTheyAre(t *testing.T) {
	c := open(t, newFile(t), strings.NewReader("one\r\n\n  \ntwo\u2028\nthree"))
	got, _ := all(t, c)
	if diff := cmp.Diff([]string{"one", "two\u2028", "three"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestTheNextDaemonGetsWhatIsOpen(t *testing.T) {
	f := newFile(t)
	first := open(t, f, strings.NewReader("a\nb\nc\nd\nhal"))
	var marks []int64
	for range 3 {
		l, err := first.Next()
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, l.Mark)
	}
	first.Done(marks[1]) // b was answered; a and c were handed out; d and half a line were only read
	second := open(t, f, strings.NewReader("f\ne\n"))
	got, _ := all(t, second)
	if diff := cmp.Diff([]string{"!a", "!c", "d", "half", "e"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestADaemonThatDiesWhileItReplaysLosesNothing(t *testing.T) {
	f := newFile(t)
	first := open(t, f, strings.NewReader("a\nb\nc\n"))
	all(t, first)
	second := open(t, f, strings.NewReader(""))
	if l, err := second.Next(); err != nil || string(l.Bytes) != "a" || !l.Replayed {
		t.Fatalf("got %q, %v", l.Bytes, err)
	}
	third := open(t, f, strings.NewReader("d\n"))
	got, marks := all(t, third)
	if diff := cmp.Diff([]string{"!a", "!b", "!c", "d"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, m := range marks {
		third.Done(m)
	}
	if got, _ := all(t, open(t, f, strings.NewReader(""))); got != nil {
		t.Errorf("closed lines came back: %q", got)
	}
}

// A read(2) that was not recorded, because the daemon died right after it, is
// found by the bytes it left.
func TestAReadThatWasNotRecordedIsFound(t *testing.T) {
	f := newFile(t)
	first := open(t, f, strings.NewReader("a\n"))
	all(t, first)
	if _, err := f.WriteAt([]byte("b\nc"), int64(os.Getpagesize())+2); err != nil { // as read(2) into the mapping would
		t.Fatal(err)
	}
	got, _ := all(t, open(t, f, strings.NewReader("c\n")))
	if diff := cmp.Diff([]string{"!a", "b", "cc"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestALongLineCostsOnlyItself(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	whole := strings.Repeat("y", 1<<20)
	c := open(t, newFile(t), strings.NewReader("a\n"+long+"\n"+whole+"\nb\n"))
	var got []string
	for {
		l, err := c.Next()
		if err == io.EOF {
			break
		}
		if tooLong, ok := errors.AsType[*stdio.TooLong](err); ok {
			got = append(got, fmt.Sprintf("%d bytes too long", tooLong.Size))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%.5s %d", l.Bytes, len(l.Bytes)))
		c.Done(l.Mark)
	}
	want := []string{"a 1", fmt.Sprintf("%d bytes too long", len(long)), fmt.Sprintf("yyyyy %d", len(whole)), "b 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestClosedPagesGoBack(t *testing.T) {
	f := newFile(t)
	line := strings.Repeat("x", 1000) + "\n"
	c := open(t, f, strings.NewReader(strings.Repeat(line, 20_000))) // 20 MB
	for {
		l, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Done(l.Mark)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if kept := st.Blocks * 512; kept > 2<<20 {
		t.Errorf("%d bytes are kept after 20 MB of closed lines", kept)
	}
}

func TestTheLogStartsAgainAtTheFront(t *testing.T) {
	f := newFile(t)
	c := open(t, f, strings.NewReader("first\nsecond\n"))
	for range 2 {
		l, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		c.Done(l.Mark)
	}
	c.start, c.searched, c.end, c.low = wrapAt+5, wrapAt+5, wrapAt+5, wrapAt+5 // as after a gigabyte
	c.in, c.eof = strings.NewReader("third\n"), nil
	if err := c.makeRoom(); err != nil {
		t.Fatal(err)
	}
	if l, err := c.Next(); err != nil || string(l.Bytes) != "third" || l.Mark != c.page {
		t.Errorf("got %q at %d, %v; want it at the front", l.Bytes, l.Mark, err)
	}
	if got, _ := all(t, open(t, f, strings.NewReader(""))); len(got) != 1 || got[0] != "!third" {
		t.Errorf("the next daemon gets %q", got)
	}
}

func TestStateIsKeptWhole(t *testing.T) {
	f := newFile(t)
	c := open(t, f, strings.NewReader(""))
	if got := c.State(); got != nil {
		t.Errorf("a new capsule has the state %q", got)
	}
	for _, s := range []string{"one", "two", "three"} {
		if err := c.Save([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if got := open(t, f, strings.NewReader("")).State(); string(got) != "three" {
		t.Errorf("state %q, want three", got)
	}
	_, counter := c.latest()
	copy(c.slot(counter)[slotHead:], "torn") // as if it had died while it saved
	if got := open(t, f, strings.NewReader("")).State(); string(got) != "two" {
		t.Errorf("after a torn save the state is %q, want the one before", got)
	}
	if err := c.Save(bytes.Repeat([]byte("x"), os.Getpagesize())); err != errStateSize {
		t.Errorf("a state of a page: %v, want %v", err, errStateSize)
	}
}

func TestAWriteInProgressIsRemembered(t *testing.T) {
	f := newFile(t)
	c := open(t, f, strings.NewReader(""))
	for _, now := range []bool{true, false, true} {
		c.Writing(now)
		if got := open(t, f, strings.NewReader("")).WasWriting(); got != now {
			t.Errorf("WasWriting: %v, want %v", got, now)
		}
	}
}

func TestOffsetsThatCannotBeAreRefused(t *testing.T) {
	page := uint64(os.Getpagesize())
	for name, put := range map[string]map[int]uint64{
		"low in the header": {atLow: 8, atHanded: page, atEnd: page},
		"behind the file":   {atLow: page, atHanded: page, atEnd: socket.CapsuleSize},
		"negative":          {atLow: 1 << 63, atHanded: 1 << 63, atEnd: 1 << 63},
	} {
		f := newFile(t)
		c := open(t, f, strings.NewReader(""))
		for at, v := range put {
			c.put(at, int64(v))
		}
		if _, err := Open(f, strings.NewReader(""), 0); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// stopped is a host whose reading is called off after what it has written.
type stopped struct{ r io.Reader }

func (s stopped) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err == io.EOF {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// A daemon that leaves in good order stops reading in the middle of a line: that
// is no end of input.
func TestHalfALineIsLeftToTheNext(t *testing.T) {
	f := newFile(t)
	first := open(t, f, stopped{strings.NewReader("a\nhalf a ")})
	l, err := first.Next()
	if err != nil || string(l.Bytes) != "a" {
		t.Fatalf("got %q, %v", l.Bytes, err)
	}
	first.Done(l.Mark)
	if l, err := first.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v; want no line and the reason", l.Bytes, err)
	}
	got, _ := all(t, open(t, f, strings.NewReader("line\n")))
	if diff := cmp.Diff([]string{"half a line"}, got); diff != "" {
		t.Errorf("the next daemon (-want +got):\n%s", diff)
	}
}

// Each daemon gives back what the one before had closed, and leaves zeros where
// the log starts again.
func TestTakeoversLeaveNothingBehind(t *testing.T) {
	f := newFile(t)
	page := int64(os.Getpagesize())
	for range 20 {
		c := open(t, f, strings.NewReader(strings.Repeat(strings.Repeat("x", 1000)+"\n", 200)))
		for {
			l, err := c.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			c.Done(l.Mark)
		}
		c.Close()
	}
	c := open(t, f, strings.NewReader(""))
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if kept := st.Blocks * 512; kept > 3*idleAt {
		t.Errorf("%d bytes are kept with nothing open, after 4 MB through 20 daemons", kept)
	}
	zeros := make([]byte, c.low&^(page-1)-page)
	if _, err := f.ReadAt(zeros, page); err != nil {
		t.Fatal(err)
	}
	if i := bytes.IndexFunc(zeros, func(r rune) bool { return r != 0 }); i >= 0 {
		t.Errorf("byte %d of the log is left, below the end of what is closed", i)
	}
}

func FuzzCapsuleIsUntrusted(f *testing.F) {
	f.Add([]byte("a\nb\n"), uint64(4096), uint64(4096), uint64(4100))
	f.Add([]byte("\x00\x00x\n\x00"), uint64(4096), uint64(4097), uint64(4101))
	f.Fuzz(func(t *testing.T, log []byte, low, handed, end uint64) {
		file := newFile(t)
		if _, err := file.WriteAt(log, int64(os.Getpagesize())); err != nil {
			t.Fatal(err)
		}
		probe := open(t, file, strings.NewReader(""))
		probe.put(atLow, int64(low))
		probe.put(atHanded, int64(handed))
		probe.put(atEnd, int64(end%(1<<22))) // a log of a gigabyte is slow to read, not wrong
		c, err := Open(file, strings.NewReader("tail\n"), 1<<20)
		if err != nil {
			return
		}
		defer c.Close()
		for range 1000 {
			l, err := c.Next()
			if err != nil {
				break
			}
			c.Done(l.Mark)
		}
	})
}
