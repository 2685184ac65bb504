package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/wire"
)

// pending is a request that the host has not answered: mcpx's own, or a server's.
type pending struct {
	answer   chan answer
	question *mux.Question
}

// answer is a host's response to a request of mcpx's own.
type answer struct {
	result []byte
	err    []byte
}

// enterAsk enters a request to the host into the table, under an id that no daemon
// before used and none after will.
func (c *Conn) enterAsk(a pending) (id string) {
	id = fmt.Sprintf("mcpx-%s-%d", c.o.Epoch, c.asked.Add(1))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks[id] = a
	c.keep()
	return id
}

// took takes a request out of the table; false when it was no longer there.
func (c *Conn) took(id string) (pending, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.asks[id]
	if ok {
		delete(c.asks, id)
		c.keep()
	}
	return a, ok
}

// ask sends the host a request of mcpx's own and waits for the answer. The
// result's bytes are the caller's.
func (c *Conn) ask(ctx context.Context, method string) ([]byte, error) {
	ch := make(chan answer, 1)
	id := c.enterAsk(pending{answer: ch})
	defer c.took(id)
	c.send(wire.AppendRequest(nil, []byte(`"`+id+`"`), method, nil))
	select {
	case a := <-ch:
		if a.err != nil {
			return nil, fmt.Errorf("the host answered %s with an error: %s", method, a.err)
		}
		return a.result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the host did not answer %s: %w", method, context.Cause(ctx))
	}
}

// answered takes a host's response to a request of ours. Others are dropped:
// late ones, and those to a daemon that is gone.
func (c *Conn) answered(env *wire.Envelope) {
	a, ok := c.took(env.Text(env.ID))
	switch {
	case !ok:
	case a.question != nil:
		a.question.Answer(env)
	case env.Kind == wire.Error:
		a.answer <- answer{err: bytes.Clone(env.Bytes(env.Error))}
	default:
		a.answer <- answer{result: bytes.Clone(env.Bytes(env.Result))}
	}
}

// put puts a server's request to the host.
func (c *Conn) put(method string, q *mux.Question, env *wire.Envelope, edits ...wire.Edit) {
	if need := capabilityOf(method); need != "" && c.facts().capability(need) == nil {
		q.Refuse(wire.CodeMethodNotFound, "the host does not offer "+need)
		return
	}
	id := c.enterAsk(pending{question: q})
	if !q.Open() { // over before the host heard of it
		c.took(id)
		return
	}
	c.send(env.Append(nil, append(edits, wire.Edit{At: env.ID, With: []byte(`"` + id + `"`)})...))
}

// withdraw tells the host that nobody waits for its answer any more.
func (c *Conn) withdraw(q *mux.Question, env *wire.Envelope) {
	id := c.asking(q)
	if _, ok := c.took(id); !ok {
		return
	}
	if env == nil {
		c.takeBack(id, "nobody waits for the answer any more")
		return
	}
	c.send(env.Append(nil, wire.Edit{At: env.RequestID, With: []byte(`"` + id + `"`)}))
}

// asking is the id under which the host has q; "" when it has not.
func (c *Conn) asking(q *mux.Question) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, a := range c.asks {
		if a.question == q {
			return id
		}
	}
	return ""
}

// takeBack cancels a request to the host.
func (c *Conn) takeBack(id, reason string) {
	params, err := json.Marshal(map[string]string{"requestId": id, "reason": reason})
	if err == nil {
		c.send(wire.AppendNotification(nil, "notifications/cancelled", params))
	}
}

// capabilityOf is what a host must have declared to be asked this; "" for what
// mcpx does not know, which the host itself answers.
func capabilityOf(method string) string {
	switch method {
	case "sampling/createMessage":
		return "sampling"
	case "elicitation/create":
		return "elicitation"
	}
	return ""
}

// Asks are the capabilities by which this host lets a server ask it something,
// as members of an object, as it declared them.
func (c *Conn) Asks() (members []byte) {
	host := c.facts()
	for _, name := range []string{"sampling", "elicitation"} {
		if value := host.capability(name); value != nil {
			if members != nil {
				members = append(members, ',')
			}
			members = append(append(wire.AppendString(members, name), ':'), value...)
		}
	}
	return members
}

// capability is the value of one that the host declared; nil when it did not.
func (h hostFacts) capability(name string) []byte {
	at, ok := wire.Member(h.capabilities, name)
	if value := h.capabilities[at.Start:at.End]; ok && string(value) != "null" {
		return value
	}
	return nil
}
