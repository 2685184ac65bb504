package upstream

import (
	"bytes"
	"slices"
	"strings"
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
	noiseWidth = 200     // as shown
	noiseKept  = 1 << 10 // more, so that a secret is hidden whole before it is cut
)

// add takes one line in and reports whether it was the first.
func (n *noise) add(line []byte) (first bool) {
	line = bytes.ToValidUTF8(line[:min(len(line), noiseKept)], []byte("?"))
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

// last are the lines as they may be shown: mask hides secrets.
func (n *noise) last(mask func(string) string) []string {
	n.mu.Lock()
	lines := slices.Clone(n.lines)
	n.mu.Unlock()
	for i, line := range lines {
		line = mask(line)
		lines[i] = strings.ToValidUTF8(line[:min(len(line), noiseWidth)], "")
	}
	return lines
}
