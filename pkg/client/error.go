package client

import (
	"encoding/json"
)

// Error is a JSON-RPC error that was answered.
type Error struct {
	Code    int
	Message string
	Data    []byte // raw; nil for none
	Trouble        // of mcpx's own errors
}

// Trouble is what mcpx says beside its message; the zero Trouble is a server's own
// error.
type Trouble struct {
	Reason string   `json:"reason"`
	Server string   `json:"server"`
	Fix    string   `json:"hint"`
	Exit   string   `json:"exit"`
	Stderr []string `json:"stderr"`
}

func (e *Error) Error() string { return e.Message }

// Hint says what to do.
func (e *Error) Hint() string { return e.Fix }

// Ours reports whether mcpx answered, and not a server.
func (e *Error) Ours() bool { return e.Reason != "" }

func errorOf(raw []byte) *Error {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil { // still an error
		return &Error{Message: "an error that cannot be read: " + string(raw)}
	}
	out := &Error{Code: e.Code, Message: e.Message, Data: e.Data}
	var data struct {
		Mcpx Trouble `json:"mcpx"`
	}
	if json.Unmarshal(e.Data, &data) == nil { // of a server's own, anything
		out.Trouble = data.Mcpx
	}
	return out
}
