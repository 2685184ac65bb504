package mux

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// reply is what a call of mcpx's own gets.
type reply struct {
	result []byte
	err    *Error
}

func (m *Mux) replyOf(env *wire.Envelope) reply {
	if env.Kind == wire.Error {
		return reply{err: m.answered(env.Bytes(env.Error))}
	}
	return reply{result: bytes.Clone(env.Bytes(env.Result))}
}

// Call is a request of mcpx itself; the result's bytes are the caller's. The
// error is an *Error, the server's or ours, or ctx's.
func (m *Mux) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	if m.modern() {
		params = era.AddMeta(params, m.extra)
	}
	answer := make(chan reply, 1)
	id, failed := m.enter(&call{method: method, answer: answer})
	if failed != nil {
		return nil, failed
	}
	if err := m.conn.Write(wire.AppendRequest(nil, strconv.AppendUint(nil, id, 10), method, params)); err != nil {
		if m.take(id) != nil {
			return nil, m.unwritten(err)
		}
	}
	select {
	case r := <-answer:
		if r.err != nil {
			return nil, r.err
		}
		return r.result, nil
	case <-ctx.Done():
		if m.take(id) != nil {
			m.giveUp(id, "given up")
		}
		return nil, fmt.Errorf("server %q: %s: %w", m.server, method, ctx.Err())
	}
}
