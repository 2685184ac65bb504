package session

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/wire"
)

// batch gathers the answers to the requests of one JSON array. Revisions up to
// 2025-03-26 have them; servers are never sent one (protocol W15).
type batch struct {
	left  int
	lines [][]byte
}

// batch splits an array of the host's and handles each element by itself. The
// answers go back as one array, in the order in which they arrive.
func (c *Conn) batch(line []byte) {
	elements, err := wire.Batch(line)
	if err != nil {
		c.refuseLine(err)
		return
	}
	if len(elements) == 0 {
		c.send(wire.AppendError(nil, nil, codeInvalidRequest, "an empty batch", nil))
		return
	}
	b := &batch{}
	var envs []wire.Envelope
	for _, el := range elements {
		env, err := wire.Scan(el)
		if err != nil {
			c.refuseLine(err)
			continue
		}
		if id, ok := wire.CanonicalID(env.Bytes(env.ID)); ok && env.Kind == wire.Request {
			c.mu.Lock()
			if _, twice := c.batches[id]; !twice {
				c.batches[id] = b
				b.left++
			}
			c.mu.Unlock()
		}
		envs = append(envs, env)
	}
	for i := range envs {
		c.message(&envs[i])
	}
}

// collect keeps an answer whose request came in a batch, and sends the batch
// once it is complete.
func (c *Conn) collect(line []byte) bool {
	env, err := wire.Scan(bytes.TrimRight(line, "\n"))
	if err != nil {
		return false
	}
	id, ok := wire.CanonicalID(env.Bytes(env.ID))
	if !ok {
		return false
	}
	c.mu.Lock()
	b := c.batches[id]
	if b == nil {
		c.mu.Unlock()
		return false
	}
	delete(c.batches, id)
	b.lines = append(b.lines, bytes.Clone(env.Line))
	b.left--
	whole := b.left == 0
	c.mu.Unlock()
	if whole {
		c.send(b.array())
	}
	return true
}

// forgotten takes a request out of its batch that will never be answered.
func (c *Conn) forgotten(id string) {
	c.mu.Lock()
	b := c.batches[id]
	if b == nil {
		c.mu.Unlock()
		return
	}
	delete(c.batches, id)
	b.left--
	whole := b.left == 0 && len(b.lines) > 0
	c.mu.Unlock()
	if whole {
		c.send(b.array())
	}
}

func (b *batch) array() []byte {
	out := append([]byte("["), bytes.Join(b.lines, []byte(","))...)
	return append(out, "]\n"...)
}
