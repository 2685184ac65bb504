package session

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// modern reports whether a message is of the era in which each request says who
// sends it (protocol §1.2).
func modern(env *wire.Envelope) bool { return !env.ProtocolVersion.Empty() }

// admit checks a request of the modern era and takes down what it says of its
// host; false when it was answered.
func (c *Conn) admit(m *message, name string) bool {
	refusal := era.Admit(&m.Envelope)
	if refusal == nil && !era.Has(true, name) {
		refusal = &era.Refusal{Code: wire.CodeMethodNotFound, Msg: "Method not found"}
	}
	if refusal != nil {
		c.reply(wire.AppendError(nil, m.Bytes(m.ID), refusal.Code, refusal.Msg, refusal.Data))
		c.done(m.mark)
		return false
	}
	c.know(&m.Envelope)
	return true
}

// know takes down who a modern host is. It says so again with each request, and
// is ready as soon as it speaks; nothing can be asked of it but in an answer.
func (c *Conn) know(env *wire.Envelope) {
	info, caps := env.Bytes(env.ClientInfo), env.Bytes(env.ClientCapabilities)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.host.modern && bytes.Equal(info, c.host.clientInfo) && bytes.Equal(caps, c.host.capabilities) {
		return
	}
	c.host = factsOf(era.ModernVersion, bytes.Clone(info), bytes.Clone(caps))
	c.once.Do(func() { close(c.initialized) })
	c.keep()
}

// discover answers server/discover: what initialize would have said, in the
// shape of the modern era (protocol §3.5).
func (c *Conn) discover(id []byte, mark int64) {
	defer c.done(mark)
	defer c.greeted()
	name, result := c.o.Hello.Server, []byte(nil)
	if c.roof != nil {
		name, result = "mcpx", c.welcome()
	} else {
		l := c.only()
		s := l.guess()
		if !s.verdict.known() {
			c.stranger(s.verdict)
			c.refuse(id, wire.CodeInternal, s.verdict.reason, upstream.Trouble{Reason: s.verdict.reason, Hint: s.verdict.hint})
			return
		}
		result = l.greeting(s)
	}
	found, err := era.DiscoverFromInitialize(result, name, "tools", "prompts", "resources")
	if err != nil {
		c.refuse(id, wire.CodeInternal, err.Error(), upstream.Trouble{Reason: err.Error()})
		return
	}
	c.reply(wire.AppendResult(nil, id, found))
}

// complete is a list of mcpx's own making as this host's era has it.
func (c *Conn) complete(method string, result []byte) []byte {
	if !c.facts().modern {
		return result
	}
	return era.Complete(method, result, nil)
}
