// Package capsule is what outlives a daemon (design D8): the file that a shim
// keeps, into which the host's bytes are read, so that none that was taken from
// the host's pipe is lost with the daemon that took it. It knows lines and
// offsets, not what the lines say.
//
// The first page is a header; after it lies a log. read(2) fills a mapped window
// of the log. A line is open until its first byte is zeroed, which its reader
// does when the line is dealt with. Beyond what was read the log is zero, so the
// next daemon finds the true end even of a read that was not recorded.
package capsule

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/socket"
	"github.com/dezren39/mcpx/pkg/stdio"
)

// Offsets of little-endian numbers in the header page, after the 16 bytes that
// package socket checks. The state has two places, so that a daemon that dies
// while it saves leaves the one before.
const (
	atLow     = 16 // uint64: below it every line is closed
	atHanded  = 24 // uint64: from here on no line was handed out
	atEnd     = 32 // uint64: the end of what is recorded as read
	atWriting = 40 // uint32: not 0 while a write to the host is in progress
	atOpen    = socket.CapsuleOpenAt
	atState   = 64 // two slots
)

// Sizes in bytes.
const (
	window  = 256 << 10 // mapped at least; more while a line is longer
	room    = 16 << 10  // free space in the window at which it moves on
	wrapAt  = 1 << 30   // where the log starts again at the front, once nothing is open
	punchAt = 256 << 10 // closed bytes at which their pages go back
	idleAt  = 16 << 10  // the same while nothing is open
)

// Line is one line of the host's, without its end.
type Line struct {
	Bytes []byte // a copy of what the mapping held; valid until the next call of Next
	Mark  int64  // for Done
	// Replayed lines were handed out by a daemon that is gone: nobody knows how
	// far it came with them.
	Replayed bool
}

// Capsule is an open capsule. Next is for one goroutine; the rest for any.
type Capsule struct {
	f    *os.File
	in   io.Reader
	max  int
	page int64
	buf  []byte // the line handed out last
	eof  error

	start    int64 // the first byte that was not handed out
	searched int64 // up to here there is no newline
	replay   int64 // lines that begin below it were handed out by another daemon

	mu      sync.Mutex // guards what follows and the bytes of closed lines
	head    []byte     // the header page
	base    int64      // offset of the window
	win     []byte
	end     int64 // of what was read
	low     int64
	punched int64
	open    []int64 // marks, ascending; closed ones in the middle are negative
}

// Open maps a capsule that socket.CheckCapsule has accepted, and reads from in
// what comes after what it holds. max bounds a line; 0 means stdio.MaxLine. The
// content is untrusted: offsets that cannot be make it an error. It keeps f,
// which Close closes.
func Open(f *os.File, in io.Reader, max int) (*Capsule, error) {
	if max <= 0 {
		max = stdio.MaxLine
	}
	page := int64(os.Getpagesize())
	head, err := unix.Mmap(int(f.Fd()), 0, int(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("capsule: %w", err)
	}
	c := &Capsule{f: f, in: stdio.Direct(in), max: max, page: page, head: head}
	if err := c.recover(); err != nil {
		_ = unix.Munmap(head)
		return nil, err
	}
	return c, nil
}

// recover takes up what a daemon before left, if there was one.
func (c *Capsule) recover() error {
	c.low, c.start, c.end = int64(c.number(atLow)), int64(c.number(atHanded)), int64(c.number(atEnd))
	if c.end == 0 { // fresh
		c.low, c.start, c.end = c.page, c.page, c.page
		c.put(atLow, c.low)
		c.put(atHanded, c.start)
		c.put(atEnd, c.end)
	}
	if c.end < c.low || c.end < c.start { // it died as it started again at the front: nothing was open
		c.low, c.start = c.end, c.end
	}
	if c.low < c.page || c.low > c.start || c.start > c.end || c.end > socket.CapsuleSize-2*int64(c.max) {
		return errors.New("capsule: offsets that cannot be")
	}
	c.replay, c.start, c.searched, c.punched = c.start, c.low, c.low, c.page
	_ = c.punch(c.low) // what a daemon before had closed
	if err := c.remap(); err != nil {
		return err
	}
	return c.findEnd()
}

// findEnd moves the end over bytes that were read and not recorded.
func (c *Capsule) findEnd() error {
	for {
		for c.end-c.base < int64(len(c.win)) {
			if c.win[c.end-c.base] == 0 {
				c.put(atEnd, c.end)
				return nil
			}
			c.end++
		}
		if c.end-c.low > int64(c.max)+2*window {
			return errors.New("capsule: no end")
		}
		if err := c.remap(); err != nil {
			return err
		}
	}
}

func (c *Capsule) number(at int) uint64 { return binary.LittleEndian.Uint64(c.head[at:]) }

func (c *Capsule) put(at int, v int64) { binary.LittleEndian.PutUint64(c.head[at:], uint64(v)) }

// remap moves the window so that it begins at the first byte not handed out and
// has room behind the end. Needs c.mu, or nobody else yet.
func (c *Capsule) remap() error {
	base := c.start &^ (c.page - 1)
	size := (c.end - base + window + c.page - 1) &^ (c.page - 1)
	win, err := unix.Mmap(int(c.f.Fd()), base, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("capsule: %w", err)
	}
	if c.win != nil {
		_ = unix.Munmap(c.win)
	}
	c.base, c.win = base, win
	return nil
}

// Close unmaps and closes the capsule, after the last Next has returned. What is
// open stays open for the next daemon.
func (c *Capsule) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(c.win), unix.Munmap(c.head), c.f.Close())
	c.head, c.win = nil, nil
	return err
}
