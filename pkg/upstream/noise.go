package upstream

import (
	"bytes"
	"slices"
	"sync"
)

// noise counts what a server prints on stdout that is no message, and keeps the
// last lines of it so that a person can see what it is (report H3).
type noise struct {
	mu    sync.Mutex // guards what follows
	n     int64
	lines []string
}

const (
	noiseLines = 5
	noiseWidth = 200
)

// add takes one line in and reports whether it was the first.
func (n *noise) add(line []byte) (first bool) {
	line = bytes.ToValidUTF8(line[:min(len(line), noiseWidth)], []byte("?"))
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lines) == noiseLines {
		n.lines = slices.Delete(n.lines, 0, 1)
	}
	n.lines = append(n.lines, string(line))
	n.n++
	return n.n == 1
}

func (n *noise) count() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.n
}

func (n *noise) last() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}
