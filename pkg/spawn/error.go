package spawn

import "fmt"

// Error is why a plan cannot be made: one field of one server.
type Error struct {
	Server string
	Field  string // as in the config: "cwd", "args[1]", "env.NAME"; "root" for the instance's own
	Msg    string
	Fix    string // what to do about it
}

func (e *Error) Error() string { return fmt.Sprintf("server %q: %s: %s", e.Server, e.Field, e.Msg) }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Fix }
