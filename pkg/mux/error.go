package mux

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Error is an answer in place of the server's. From Call it is also the
// server's own error, which has Data and no Reason.
type Error struct {
	Code   int
	Msg    string
	Reason string // data.mcpx.reason
	Server string
	Hint   string // how to do better, if there is a way
	Exit   string // how the process ended, when that is the reason
	Stderr []string
	Data   []byte // raw; what the server sent with its error

	// Gone says that nothing was sent, since the upstream has ended or is
	// ending: whoever holds its lease may acquire another and ask that.
	Gone bool
}

func (e *Error) Error() string { return e.Msg }

// Append appends the whole error line for the request id, newline included.
func (e *Error) Append(dst, id []byte) []byte {
	data := e.Data
	if e.Reason != "" {
		data = upstream.Trouble{Reason: e.Reason, Server: e.Server, Hint: e.Hint, Exit: e.Exit, Stderr: e.Stderr}.Data()
	}
	return wire.AppendError(dst, id, e.Code, e.Msg, data)
}

// internal is a failure of mcpx's own whose message is its reason.
func (m *Mux) internal(format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Code: wire.CodeInternal, Msg: msg, Reason: msg, Server: m.server}
}

// invalid is a request that cannot be told from another.
func (m *Mux) invalid(msg string) *Error {
	return &Error{Code: wire.CodeInvalid, Msg: msg, Reason: msg, Server: m.server}
}

// unknownTask is a task that the session has not begun: to it there is none.
func (m *Mux) unknownTask(id string) *Error {
	msg := fmt.Sprintf("unknown task %q", id)
	return &Error{Code: wire.CodeInvalidParams, Msg: msg, Reason: msg, Server: m.server}
}

// exited is what calls get when the upstream has ended for the reason err.
func (m *Mux) exited(err error) *Error {
	e := m.internal("child exited")
	if f, ok := errors.AsType[*upstream.Failure](err); ok {
		e.Exit, e.Stderr, e.Hint = f.Exit, f.Stderr, f.Fix
		e.Reason = cmp.Or(f.Reason, e.Reason)
		if f.Stopped {
			e.Reason = "server stopped"
		}
	}
	if err != nil {
		e.Msg = err.Error()
	}
	return e
}

// unwritten is what a request gets that could not be sent.
func (m *Mux) unwritten(err error) *Error {
	if errors.Is(err, stdio.ErrFull) {
		return m.internal("the server does not read: %v", err)
	}
	e := m.internal("the server takes no more requests: %v", err)
	e.Gone = true
	return e
}

// timedOut is for a call that was silent for too long, or that only seemed to be
// alive for too long.
func (m *Mux) timedOut(c *call) *Error {
	if c.deadline.Equal(c.last) {
		e := m.internal("call ended after %s: that is the most a call may take, with progress too", short(c.max))
		e.Hint = fmt.Sprintf(`raise "callTimeout" in the "mcpx" block of %q above %s: a call may always take that long`, m.server, short(c.max))
		return e
	}
	return m.internal("call timed out after %s", short(c.timeout))
}

// short writes whole seconds and hours as such.
func short(d time.Duration) string {
	switch {
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

// answered reads the server's own error.
func (m *Mux) answered(raw []byte) *Error {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		e.Code, e.Message = wire.CodeInternal, "an error without a code" // still an error
	}
	return &Error{Code: e.Code, Msg: e.Message, Server: m.server, Data: e.Data}
}
