package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Refusal is an Error as a Go error: what a daemon answers in place of a result.
type Refusal struct {
	Status int // of HTTP, 400 and up
	Err    Error
}

func (r *Refusal) Error() string {
	msg := r.Err.Msg
	if r.Err.Field != "" {
		msg = r.Err.Field + ": " + msg
	}
	if r.Err.Server != "" {
		msg = fmt.Sprintf("server %q: %s", r.Err.Server, msg)
	}
	return msg
}

// Hint says what to do; it may be empty.
func (r *Refusal) Hint() string { return r.Err.Hint }

// SilentError is a daemon that holds its lock and answers nothing.
type SilentError struct {
	PID      int // 0 when it has not said
	patience time.Duration
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("the daemon (pid %d) runs and did not answer in %v", e.PID, e.patience)
}

// Hint says how to wake or end it. To kill 0 would end the caller's own group.
func (e *SilentError) Hint() string {
	if e.PID <= 0 {
		return "it may have begun just now: try again"
	}
	return fmt.Sprintf("if it was stopped: kill -CONT %d; if it hangs: kill -KILL %d, and the next mcpx connect starts another", e.PID, e.PID)
}

// ReadError makes a Refusal of a daemon's answer. A body that is no Error, such
// as that of a route an older daemon lacks, is shown as it is.
func ReadError(status int, body []byte) *Refusal {
	r := &Refusal{Status: status}
	if err := json.Unmarshal(body, &r.Err); err == nil && r.Err.Msg != "" {
		return r
	}
	r.Err = Error{
		Msg:  fmt.Sprintf("the daemon answered %d: %.200s", status, bytes.TrimSpace(body)),
		Hint: "it may be of another version; see: mcpx status",
	}
	return r
}
