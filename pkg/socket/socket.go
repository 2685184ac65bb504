// Package socket is the way between the daemon and its callers: where the
// sockets are, who is at the other end, the two locks, and how descriptors
// cross (design D8, D12, D13). It knows nothing of what is said over them.
package socket

import "errors"

// Names in the runtime directory.
const (
	Attach  = "attach.sock"
	Control = "control.sock"
)

// ErrNoDaemon is a socket that nobody listens on, or none at all.
var ErrNoDaemon = errors.New("no daemon")

// fault is an error that knows what a person can do about it.
type fault struct {
	msg, hint string
	err       error // what errors.Is finds; nil when nothing lies below
}

func (f *fault) Error() string { return f.msg }

// Hint says what to do.
func (f *fault) Hint() string { return f.hint }

func (f *fault) Unwrap() error { return f.err }

// NoDaemon is ErrNoDaemon, said of one of the sockets.
func (r *Runtime) NoDaemon(name string) error { return noDaemon(r.file(name)) }

func noDaemon(path string) error {
	return &fault{
		msg:  "no daemon on " + path,
		hint: "start it with: mcpx daemon",
		err:  ErrNoDaemon,
	}
}
