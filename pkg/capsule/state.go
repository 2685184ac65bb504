package capsule

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// errStateSize is a state that does not fit.
var errStateSize = errors.New("capsule: the session's state does not fit")

// A slot is a length, a checksum and a counter, then the bytes.
const slotHead = 16

// slot is the i-th of the two places for the state.
func (c *Capsule) slot(i uint64) []byte {
	size := (len(c.head) - atState) / 2
	return c.head[atState+int(i%2)*size:][:size]
}

// readSlot returns what a slot holds, ok only if it was written whole.
func readSlot(slot []byte) (state []byte, counter uint64, ok bool) {
	n := binary.LittleEndian.Uint32(slot)
	counter = binary.LittleEndian.Uint64(slot[8:])
	if counter == 0 || int(n) > len(slot)-slotHead {
		return nil, 0, false
	}
	state = slot[slotHead:][:n]
	return state, counter, crc32.ChecksumIEEE(state) == binary.LittleEndian.Uint32(slot[4:])
}

// latest is the newest whole slot.
func (c *Capsule) latest() (state []byte, counter uint64) {
	for i := range uint64(2) {
		if s, n, ok := readSlot(c.slot(i)); ok && n > counter {
			state, counter = s, n
		}
	}
	return state, counter
}

// State is a copy of what was saved last, by this daemon or one before; nil when
// nothing was.
func (c *Capsule) State() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil {
		return nil
	}
	state, _ := c.latest()
	return append([]byte(nil), state...)
}

// Save keeps a session's state for the daemon that comes after. A daemon that
// dies meanwhile leaves the one before.
func (c *Capsule) Save(state []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil {
		return nil
	}
	_, counter := c.latest()
	slot := c.slot(counter + 1)
	if len(state) > len(slot)-slotHead {
		return errStateSize
	}
	binary.LittleEndian.PutUint64(slot[8:], 0) // not whole from here
	copy(slot[slotHead:], state)
	binary.LittleEndian.PutUint32(slot, uint32(len(state)))
	binary.LittleEndian.PutUint32(slot[4:], crc32.ChecksumIEEE(state))
	binary.LittleEndian.PutUint64(slot[8:], counter+1)
	return nil
}
