package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dezren39/mcpx/pkg/mux"
	"github.com/dezren39/mcpx/pkg/wire"
)

// JSON-RPC codes of mcpx's own answers (design D7).
const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
)

// trouble is data.mcpx of an error answer.
type trouble struct {
	reason string
	server string
	hint   string
	stderr []string
}

func (t trouble) json() []byte {
	b, err := json.Marshal(map[string]any{"mcpx": struct {
		Reason string   `json:"reason"`
		Server string   `json:"server,omitempty"`
		Hint   string   `json:"hint,omitempty"`
		Stderr []string `json:"stderr,omitempty"`
	}{t.reason, t.server, t.hint, t.stderr}})
	if err != nil {
		return nil
	}
	return b
}

// refuse answers a request with an error of mcpx's own.
func (c *Conn) refuse(id []byte, code int, msg string, t trouble) {
	if t.server == "" {
		t.server = c.o.Hello.Server
	}
	c.reply(wire.AppendError(nil, id, code, msg, t.json()))
}

// notAllowed is a request that this session may not make: a server it does not
// see, or a tool its config leaves out. To the host it is an unknown name.
type notAllowed struct{ verdict }

func (e *notAllowed) Error() string { return e.reason }

// allowed is the decision that lists show, asked again for every request
// (design D9).
func (c *Conn) allowed(env *wire.Envelope, s *spot) error {
	if s.verdict.server == nil {
		return &notAllowed{s.verdict}
	}
	if filters(s.verdict.server) && string(method(env)) == "tools/call" {
		if name := env.Text(env.Name); !s.verdict.server.AllowsTool(name) {
			return &notAllowed{verdict{reason: fmt.Sprintf("unknown tool %q", name), hint: `"tools" and "excludeTools" of this server leave it out`}}
		}
	}
	return nil
}

// failed answers a request that reached no server.
func (c *Conn) failed(env *wire.Envelope, err error) {
	id := env.Bytes(env.ID)
	if no, ok := errors.AsType[*notAllowed](err); ok {
		c.refuse(id, codeInvalidParams, no.reason, trouble{reason: no.reason, hint: no.hint})
		return
	}
	c.note(err)
	if m, ok := errors.AsType[*mux.Error](err); ok {
		c.refuse(id, m.Code, m.Msg, trouble{reason: m.Reason, server: m.Server, stderr: m.Stderr})
		return
	}
	t := trouble{reason: err.Error()}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		t.hint = h.Hint()
	}
	if w, ok := errors.AsType[interface {
		error
		LastWords() []string
	}](err); ok {
		t.stderr = w.LastWords()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.hint = first(t.hint, "raise startTimeout in its mcpx block, or see why it is busy: mcpx status")
	}
	msg := err.Error()
	if len(t.stderr) > 0 {
		msg += "; its last words: " + t.stderr[len(t.stderr)-1]
	}
	c.refuse(id, codeInternal, msg, t)
}

// note keeps the last thing that went wrong for status.
func (c *Conn) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = err.Error()
}

// stranger answers the handshake of a host that asks for a server no file
// names: the one case that is an error, on stderr too (design D14).
func (c *Conn) stranger(id []byte, v verdict) {
	c.refuse(id, codeInternal, v.reason, trouble{reason: v.reason, hint: v.hint})
	c.mu.Lock()
	c.exit = 1
	c.mu.Unlock()
	if c.o.Say != nil {
		c.o.Say(fmt.Sprintf("mcpx: %s\n   hint: %s", v.reason, v.hint))
	}
}

// ask sends the host a request of ours and waits for the answer. The result's
// bytes are the caller's.
func (c *Conn) ask(ctx context.Context, method string) ([]byte, error) {
	id := fmt.Sprintf("mcpx-%s-%d", c.o.Epoch, c.asked.Add(1))
	ch := make(chan answer, 1)
	c.mu.Lock()
	c.asks[id] = ch
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asks, id)
		c.mu.Unlock()
	}()
	c.send(wire.AppendRequest(nil, []byte(`"`+id+`"`), method, nil))
	select {
	case a := <-ch:
		if a.err != nil {
			return nil, fmt.Errorf("the host answered %s with an error: %s", method, a.err)
		}
		return a.result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the host did not answer %s: %w", method, ctx.Err())
	}
}

// answered takes a host's response to a request of ours. Others are dropped:
// late ones, and those to a daemon that is gone.
func (c *Conn) answered(env *wire.Envelope) {
	id := env.Text(env.ID)
	c.mu.Lock()
	ch := c.asks[id]
	delete(c.asks, id)
	c.mu.Unlock()
	if ch == nil {
		return
	}
	if env.Kind == wire.Error {
		ch <- answer{err: bytes.Clone(env.Bytes(env.Error))}
		return
	}
	ch <- answer{result: bytes.Clone(env.Bytes(env.Result))}
}

func joined(elements [][]byte) []byte { return bytes.Join(elements, []byte(",")) }
