package mux

import (
	"slices"
	"time"
)

// held are the requests of modern hosts that want to hear the log of a legacy
// server: they wait until it has taken the level in, or what it says first would
// be lost.
type held struct {
	level uint64    // the id of the logging/setLevel that is awaited; 0 when none is
	until time.Time // at the latest
	lines []heldLine
}

type heldLine struct {
	call uint64
	line []byte
}

// levelWait is how long a server may take to take a level in.
const levelWait = time.Second

// hold keeps line back while a level is awaited; false when none is.
func (m *Mux) hold(call uint64, line []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held.level == 0 || m.failed != nil {
		return false
	}
	m.held.lines = append(m.held.lines, heldLine{call, slices.Clone(line)})
	m.lookLocked(m.held.until)
	return true
}

// takenLocked is what may be sent, now that the level was taken in or the server
// has had its time: what nobody has given up meanwhile.
func (m *Mux) takenLocked() []heldLine {
	lines := m.held.lines
	m.held = held{}
	return slices.DeleteFunc(lines, func(l heldLine) bool { return m.calls[l.call] == nil })
}

// overdue reports whether the server has had its time.
func (h *held) overdue(now time.Time) bool { return h.level != 0 && !now.Before(h.until) }

// release sends what was held back.
func (m *Mux) release(lines []heldLine) {
	for _, l := range lines {
		if err := m.conn.Write(l.line); err != nil {
			if c := m.take(l.call); c != nil { // else the end has answered it
				m.reject(c, m.unwritten(err))
			}
		}
	}
}
