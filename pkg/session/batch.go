package session

import (
	"bytes"
	"errors"

	"github.com/dezren39/mcpx/pkg/capsule"
	"github.com/dezren39/mcpx/pkg/wire"
)

// batch gathers the answers to one JSON array. Revisions up to 2025-03-26 have
// them; servers are never sent one (protocol W15).
type batch struct {
	left  int // answers to come, and one for the split itself
	lines [][]byte
	mark  int64
}

// batch splits an array of the host's and handles each element by itself. The
// answers go back as one array, in the order in which they arrive.
func (c *Conn) batch(l capsule.Line) {
	elements, err := wire.Batch(l.Bytes)
	if bad, ok := errors.AsType[*wire.ScanError](err); ok {
		c.send(refusal(bad))
		c.dealt(l.Mark)
		return
	}
	b := &batch{left: 1, mark: l.Mark}
	messages := make([]message, 0, len(elements))
	c.mu.Lock()
	for _, el := range elements {
		env, err := wire.Scan(el)
		if bad, ok := errors.AsType[*wire.ScanError](err); ok {
			if answerable(bad) {
				b.lines = append(b.lines, bytes.TrimRight(refusal(bad), "\n"))
			}
			continue
		}
		messages = append(messages, message{Envelope: env, replayed: l.Replayed})
		if id, ok := wire.CanonicalID(env.Bytes(env.ID)); ok && env.Kind == wire.Request && c.batches[id] == nil {
			c.batches[id] = b
			b.left++
		}
	}
	c.mu.Unlock()
	for i := range messages {
		c.message(&messages[i])
	}
	c.counted(b, nil)
}

// collect keeps an answer whose request came in a batch; false when it did not.
func (c *Conn) collect(line []byte) bool {
	env, err := wire.Scan(bytes.TrimRight(line, "\n"))
	if err != nil {
		return false
	}
	id, ok := wire.CanonicalID(env.Bytes(env.ID))
	if !ok {
		return false
	}
	b := c.unbatch(id)
	if b == nil {
		return false
	}
	c.counted(b, bytes.Clone(env.Line))
	return true
}

// forgotten takes a request out of its batch that will never be answered.
func (c *Conn) forgotten(id string) {
	if b := c.unbatch(id); b != nil {
		c.counted(b, nil)
	}
}

// unbatch is the batch that waits for the answer to id, which it no longer does.
func (c *Conn) unbatch(id string) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.batches[id]
	delete(c.batches, id)
	return b
}

// counted adds an answer, nil for none, and sends the batch once it is complete.
func (c *Conn) counted(b *batch, line []byte) {
	c.mu.Lock()
	if line != nil {
		b.lines = append(b.lines, line)
	}
	b.left--
	whole := b.left == 0
	c.mu.Unlock()
	if whole && len(b.lines) > 0 {
		c.send(append(array(b.lines), '\n'))
	}
	if whole {
		c.dealt(b.mark)
	}
}
