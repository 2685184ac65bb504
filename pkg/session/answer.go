package session

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// refuse answers a request with an error of mcpx's own.
func (c *Conn) refuse(id []byte, code int, msg string, t upstream.Trouble) {
	if t.Server == "" {
		t.Server = c.o.Hello.Server
	}
	c.reply(wire.AppendError(nil, id, code, msg, t.Data()))
}

// notAllowed is a request that this session may not make: a server it does not
// see, or a tool its config leaves out. To the host it is an unknown name.
type notAllowed struct{ verdict }

func (e *notAllowed) Error() string { return e.reason }

// trouble is what a refusal says beside its message.
func (v verdict) trouble(server string) upstream.Trouble {
	return upstream.Trouble{Server: server, Reason: v.reason, Hint: v.hint, Rule: v.rule}
}

// allowed is the decision that lists show, asked again for every request
// (design D9); and whether the session is anywhere at all.
func (l *lane) allowed(m *message, s *spot) error {
	if s.verdict.server == nil {
		return &notAllowed{s.verdict}
	}
	if err := s.missing(); err != nil {
		return err
	}
	if filters(s.verdict.server) && string(method(&m.Envelope)) == "tools/call" {
		if name := cmp.Or(m.item, m.Text(m.Name)); !s.verdict.server.AllowsTool(name) {
			return &notAllowed{verdict{reason: fmt.Sprintf("unknown tool %q", name), hint: `"tools" and "excludeTools" of this server leave it out`}}
		}
	}
	return nil
}

// failed answers a request that reached no server.
func (l *lane) failed(env *wire.Envelope, err error) {
	c, id := l.c, env.Bytes(env.ID)
	if no, ok := errors.AsType[*notAllowed](err); ok {
		if !no.known() {
			c.stranger(no.verdict)
		}
		msg := no.reason
		if no.hidden() { // to the host there is no such name
			if code, unknown, _ := nobody(env, string(method(env))); code == wire.CodeInvalidParams {
				msg = unknown
			}
		}
		c.refuse(id, wire.CodeInvalidParams, msg, no.trouble(l.name))
		return
	}
	if list, ok := lists[string(method(env))]; ok { // the host has none now: it is told when there is one
		l.listed(list.family, listing{offer: l.guess().verdict.offer(list.family)})
	}
	l.note(err)
	if m, ok := errors.AsType[*mux.Error](err); ok {
		c.reject(m, id)
		return
	}
	t := upstream.Trouble{Server: l.name, Reason: err.Error(), Hint: config.HintOf(err)}
	if f, ok := errors.AsType[*upstream.Failure](err); ok {
		t.Exit, t.Stderr = f.Exit, f.Stderr
	}
	c.refuse(id, wire.CodeInternal, t.Reason, t)
}

// reject answers with an error of the mux. One about an id that is in use is no
// answer to the request that has it, so it is no part of that one's batch.
func (c *Conn) reject(m *mux.Error, id []byte) {
	if line := m.Append(nil, id); m.Code == wire.CodeInvalid {
		c.send(line)
	} else {
		c.reply(line)
	}
}

// stranger says once on stderr that no file names the server, and ends the shim
// with 1 when the host's input ends (design D8).
func (c *Conn) stranger(v verdict) {
	c.mu.Lock()
	told := c.exit != 0
	c.exit = 1
	c.mu.Unlock()
	if !told && c.o.Say != nil {
		c.o.Say(fmt.Sprintf("mcpx: %s\n   hint: %s", v.reason, v.hint))
	}
}

// refusal is the answer to a line that must not be forwarded (design D7).
func refusal(bad *wire.ScanError) []byte {
	return wire.AppendError(nil, bad.ID, bad.Code, bad.Msg, upstream.Trouble{
		Reason: bad.Msg,
		Hint:   "each line of the host's must be one JSON-RPC message; this one was dropped, the next is read",
	}.Data())
}
