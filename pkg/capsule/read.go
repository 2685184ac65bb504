package capsule

import (
	"bytes"
	"io"

	"github.com/dezren39/mcpx/pkg/stdio"
)

// Next returns the next line that is open: first what another daemon left, then
// what the host writes. A CR before the end and blank lines are dropped, an
// unterminated last line counts. A line over the cap is a *stdio.TooLong and
// costs only itself. Any other error is the stream's, io.EOF at its end.
func (c *Capsule) Next() (Line, error) {
	for {
		at, end, err := c.findLine()
		if err != nil {
			return Line{}, err
		}
		line := c.handOut(at, end)
		if line.Bytes != nil {
			return line, nil
		}
	}
}

// findLine returns where the next line lies, reading as often as need be.
func (c *Capsule) findLine() (at, end int64, err error) {
	for {
		at = c.start
		if i := bytes.IndexByte(c.win[c.searched-c.base:c.end-c.base], '\n'); i >= 0 {
			end = c.searched + int64(i)
			if end-at > int64(c.max) {
				return 0, 0, c.tooLong(end)
			}
			c.searched = end + 1
			return at, end, nil
		}
		c.searched = c.end
		if c.end-at > int64(c.max) {
			return 0, 0, c.swallow()
		}
		if c.eof != nil {
			if at == c.end {
				return 0, 0, c.eof
			}
			return at, c.end, nil
		}
		if err := c.fill(); err != nil {
			return 0, 0, err
		}
	}
}

// fill reads once, straight into the mapping.
func (c *Capsule) fill() error {
	if int64(len(c.win))-(c.end-c.base) < room {
		c.mu.Lock()
		err := c.makeRoom()
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	n, err := c.in.Read(c.win[c.end-c.base:])
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil {
		return io.ErrClosedPipe
	}
	c.end += int64(n)
	c.put(atEnd, c.end)
	if err == io.EOF {
		c.eof = err
		return nil
	}
	return err // whoever stopped the reading leaves half a line to the next daemon
}

// makeRoom moves the window on, gives closed pages back, and starts the log
// again at the front when it has become long. Needs c.mu.
func (c *Capsule) makeRoom() error {
	if c.head == nil {
		return io.ErrClosedPipe
	}
	if c.end >= wrapAt && c.start == c.end && len(c.open) == 0 {
		if err := c.punch(c.end + c.page - 1); err != nil { // the last page, too
			return err
		}
		c.start, c.searched, c.end, c.low, c.punched, c.replay = c.page, c.page, c.page, c.page, c.page, 0
		c.put(atEnd, c.end) // nothing lies behind any of them, so their order does not matter
		c.put(atHanded, c.start)
		c.put(atLow, c.low)
	}
	return c.remap()
}

// handOut copies a line out of the mapping before anybody looks at it: what
// another process may change is read once. Bytes are nil for a line that is
// closed or blank.
func (c *Capsule) handOut(at, end int64) Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil {
		return Line{}
	}
	replayed := at < c.replay
	c.buf = append(c.buf[:0], c.win[at-c.base:end-c.base]...)
	c.start = min(end+1, c.end)
	c.put(atHanded, max(c.start, c.replay))
	line := bytes.TrimSuffix(c.buf, []byte("\r"))
	if len(bytes.Trim(line, " \t\r")) == 0 || replayed && line[0] == 0 {
		c.lowered()
		return Line{}
	}
	c.open = append(c.open, at)
	c.count()
	return Line{Bytes: line, Mark: at, Replayed: replayed}
}

// tooLong skips a line over the cap that ends at end.
func (c *Capsule) tooLong(end int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := c.win[c.start-c.base : end-c.base]
	long := stdio.NewTooLong(whole)
	c.skip(end + 1)
	return long
}

// swallow skips a line over the cap whose end has not been read.
func (c *Capsule) swallow() error {
	long := c.tooLong(c.end).(*stdio.TooLong)
	for c.eof == nil {
		if err := c.fill(); err != nil {
			return err
		}
		chunk := c.win[c.start-c.base : c.end-c.base]
		i := bytes.IndexByte(chunk, '\n')
		if i >= 0 {
			chunk = chunk[:i]
		}
		long.Add(chunk)
		c.mu.Lock()
		c.skip(c.start + int64(len(chunk)))
		if i >= 0 {
			c.skip(c.start + 1)
		}
		c.mu.Unlock()
		if i >= 0 {
			break
		}
	}
	return long
}

// skip closes everything before next that was not handed out. Needs c.mu.
func (c *Capsule) skip(next int64) {
	c.start = min(next, c.end)
	c.searched = c.start
	c.put(atHanded, max(c.start, c.replay))
	c.lowered()
}
