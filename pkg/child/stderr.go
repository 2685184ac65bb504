package child

import (
	"bufio"
	"slices"
	"strings"
	"sync"
	"time"
)

// What is kept of a server's stderr. A longer line counts as several.
const (
	tailLines = 100
	tailBytes = 64 << 10
	lineBytes = 8 << 10
)

// tail is the end of a text, in lines.
type tail struct {
	mu    sync.Mutex // guards what follows
	lines []string
	size  int
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	t.size += len(line)
	for len(t.lines) > tailLines || t.size > tailBytes {
		t.size -= len(t.lines[0])
		t.lines = t.lines[1:]
	}
}

func (t *tail) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// A server may write to stderr at once as much as it likes; what it goes on with
// is read no faster than this, so that a flood costs the server itself and not
// those who have others (threat T34).
const (
	floodBurst = 256 << 10 // bytes
	floodPause = 5 * time.Millisecond
	floodStep  = 20 << 10 // bytes for each pause: 4 MiB a second
	floodCalm  = time.Second
)

// flood is how much of the burst is left.
type flood struct {
	left  int
	since time.Time // it last wrote
}

func (f *flood) wait(n int) {
	now := time.Now()
	if now.Sub(f.since) > floodCalm {
		f.left = floodBurst
	}
	f.since = now
	if f.left -= n; f.left <= 0 {
		time.Sleep(floodPause)
		f.left = floodStep
	}
}

// drain reads stderr for as long as there is any, whether anybody listens or
// not: a server whose pipe is full stands still (report F9). Secrets are hidden
// before a long line is cut, or half of one would be left.
func (p *Process) drain(on func(line string)) {
	defer close(p.drained)
	defer p.stderr.Close()
	r := bufio.NewReaderSize(p.stderr, lineBytes)
	var text string
	var rest []byte
	flood := flood{left: floodBurst}
	for {
		piece, err := r.ReadSlice('\n') // ErrBufferFull: of a long line
		flood.wait(len(piece))
		text, rest = p.mask.hide(append(rest, piece...), err == bufio.ErrBufferFull)
		if len(text) > 0 {
			text = strings.TrimRight(text, "\r\n")
			p.tail.add(text)
			if on != nil {
				on(text)
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}
