package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seen is an event as a test has it.
type seen struct {
	Kind, Data, ID string
	Retry          time.Duration
}

func readEvents(r io.Reader, limit int) (all []seen, id string, err error) {
	ev := newEvents(r, limit)
	for {
		e, err := ev.next()
		if err != nil {
			return all, ev.id, err
		}
		all = append(all, seen{e.kind, string(e.data), ev.id, ev.retry})
	}
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []seen
		id           string // in the end
	}{
		{"one", "data: a\n\n", []seen{{Data: "a"}}, ""},
		{"line ends of CR", "event: x\rdata: a\r\rdata: b\r\r", []seen{{Kind: "x", Data: "a"}, {Data: "b"}}, ""},
		{"line ends of CRLF", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []seen{{Data: "a", ID: "1"}, {Data: "b", ID: "1"}}, "1"},
		{"line ends of all kinds", "data: a\r\ndata: b\rdata: c\n\r\n", []seen{{Data: "a\nb\nc"}}, ""},
		{"a byte order mark", "\ufeffdata: a\n\n", []seen{{Data: "a"}}, ""},
		{"a byte order mark elsewhere is a character", "data: a\n\n\ufeffdata: b\n\n", []seen{{Data: "a"}}, ""},
		{"comments keep it alive", ":\n: hello\r\n\r\ndata: a\n:x\n\n", []seen{{Data: "a"}}, ""},
		{"one space is left out, and only one", "data:a\ndata:  b\ndata: \ndata\n\n", []seen{{Data: "a\n b\n\n"}}, ""},
		{"no data is no event, but an id counts", "id: 7\n\nevent: x\n\ndata: a\n\n", []seen{{Data: "a", ID: "7"}}, "7"},
		{"data without text is one", "id: 7\ndata:\n\n", []seen{{ID: "7"}}, "7"},
		{"cut off in the middle of an event", "data: a\n\nid: 9\ndata: {\"half", []seen{{Data: "a"}}, ""},
		{"cut off before the empty line", "id: 1\ndata: a\n\nid: 2\ndata: b\n", []seen{{Data: "a", ID: "1"}}, "1"},
		{"an id with NUL is none", "id: 1\ndata: a\n\nid: x\x00y\ndata: b\n\n", []seen{{Data: "a", ID: "1"}, {Data: "b", ID: "1"}}, "1"},
		{"an empty id takes it back", "id: 1\ndata: a\n\nid\ndata: b\n\n", []seen{{Data: "a", ID: "1"}, {Data: "b"}}, ""},
		{"retry in digits only", "retry: 20\nretry: -1\nretry: 1s\ndata: a\n\n", []seen{{Data: "a", Retry: 20 * time.Millisecond}}, ""},
		{"names it does not know", "Data: x\nfoo: y\nbar\ndata: a\n\n", []seen{{Data: "a"}}, ""},
		{"nothing", "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{
				"at once": strings.NewReader(tt.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)),
			} {
				got, id, err := readEvents(r, 1000)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", way, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || id != tt.id {
					t.Errorf("%s: id %q, want %q, (-want +got):\n%s", way, id, tt.id, diff)
				}
			}
		})
	}
}

func TestEventsAreBounded(t *testing.T) {
	for name, stream := range map[string]string{
		"a line without end":   "data: " + strings.Repeat("x", 2000),
		"lines without end":    strings.Repeat("data: "+strings.Repeat("x", 90)+"\n", 20),
		"a name without end":   strings.Repeat("x", 2000),
		"a comment of a flood": ":" + strings.Repeat("x", 2000) + "\n",
	} {
		if _, _, err := readEvents(strings.NewReader(stream), 1000); !errors.Is(err, errTooLarge) {
			t.Errorf("%s: got %v, want that it is too large", name, err)
		}
	}
	if got, _, _ := readEvents(strings.NewReader("data: "+strings.Repeat("x", 900)+"\n\n"+"data: "+strings.Repeat("y", 900)+"\n\n"), 1000); len(got) != 2 {
		t.Errorf("two events below the limit: got %d", len(got))
	}
}

// FuzzEvents: however a stream comes, and whatever its line ends are, it holds
// the same events.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nevent: x\ndata: a\ndata: b\n\n:c\nretry: 3\n\ndata: z\n\n"))
	f.Add([]byte("\ufeffdata\r\rdata:\r\n\r\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, id, err := readEvents(bytes.NewReader(stream), 1<<10)
		slow, slowID, slowErr := readEvents(iotest.OneByteReader(bytes.NewReader(stream)), 1<<10)
		if diff := cmp.Diff(whole, slow); diff != "" || id != slowID || !errors.Is(slowErr, err) {
			t.Fatalf("byte by byte it is %q %v, else %q %v\n%s", slowID, slowErr, id, err, diff)
		}
		if bytes.ContainsRune(stream, '\r') {
			return
		}
		for _, end := range []string{"\r", "\r\n"} {
			other, _, _ := readEvents(bytes.NewReader(bytes.ReplaceAll(stream, []byte("\n"), []byte(end))), 1<<10)
			if diff := cmp.Diff(whole, other); diff != "" {
				t.Fatalf("with lines that end in %q:\n%s", end, diff)
			}
		}
	})
}
