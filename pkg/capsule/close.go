package capsule

import (
	"encoding/binary"
	"slices"
)

// Done closes a line: it has been dealt with, and the answer has been written.
func (c *Capsule) Done(mark int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := slices.BinarySearchFunc(c.open, mark, func(m, want int64) int { return int(magnitude(m) - want) })
	if !ok || c.open[i] < 0 || c.head == nil {
		return
	}
	c.zero(mark)
	c.open[i] = -mark
	for len(c.open) > 0 && c.open[0] < 0 {
		c.open = c.open[1:]
	}
	c.count()
	c.lowered()
}

func magnitude(m int64) int64 {
	if m < 0 {
		return -m
	}
	return m
}

// zero writes the byte that closes a line. Needs c.mu.
func (c *Capsule) zero(at int64) {
	if at >= c.base && at < c.base+int64(len(c.win)) {
		c.win[at-c.base] = 0
		return
	}
	_, _ = c.f.WriteAt([]byte{0}, at) // it fails on no memory file; a line left open is answered twice, not lost
}

// lowered moves the low mark to the first open line, and gives pages back when
// enough lie behind it. Needs c.mu.
func (c *Capsule) lowered() {
	low := c.start
	if len(c.open) > 0 {
		low = c.open[0]
	}
	if low <= c.low {
		return
	}
	c.low = low
	c.put(atLow, low)
	if closed := low - c.punched; closed >= punchAt || len(c.open) == 0 && closed >= idleAt {
		_ = c.punch(low) // memory is only given back later then
	}
}

// count records how many lines are open. Needs c.mu.
func (c *Capsule) count() {
	n := uint32(0)
	for _, m := range c.open {
		if m > 0 {
			n++
		}
	}
	binary.LittleEndian.PutUint32(c.head[atOpen:], n)
}

// Writing notes that a write to the host begins or has ended. When a daemon
// dies in between, the host may hold half a line, and the next begins with a
// newline.
func (c *Capsule) Writing(now bool) {
	v := uint32(0)
	if now {
		v = 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head != nil {
		binary.LittleEndian.PutUint32(c.head[atWriting:], v)
	}
}

// WasWriting reports whether the daemon before died, or left, inside a write.
func (c *Capsule) WasWriting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head != nil && binary.LittleEndian.Uint32(c.head[atWriting:]) != 0
}
