package client

import (
	"strings"
	"sync"
)

// held keeps what the shim says until it is known whether that was said already.
type held struct {
	say func(string)

	mu    sync.Mutex // guards what follows
	open  bool
	lines []string
}

// Write takes whole lines.
func (h *held) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range strings.Lines(string(data)) {
		h.lines = append(h.lines, strings.TrimSuffix(line, "\n"))
	}
	if h.open {
		h.flush()
	}
	return len(data), nil
}

// release says what was held, unless it is not wanted, and holds no more.
func (h *held) release(drop bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if drop {
		h.lines = nil
	}
	h.open = true
	h.flush()
}

func (h *held) flush() {
	for _, line := range h.lines {
		if h.say != nil {
			h.say(line)
		}
	}
	h.lines = nil
}
