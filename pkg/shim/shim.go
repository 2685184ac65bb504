// Package shim is `mcpx connect`: it finds or starts the daemon, hands over the
// host's pipes, and sleeps (design D8, D13). Nothing the host says passes
// through it, unless its descriptors cannot be handed over.
package shim

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/socket"
)

// Options are connect's.
type Options struct {
	Dirs   place.Dirs
	Server string // as the config names it
	Flags  api.Flags
	Build  string
	Getenv func(string) string
	Argv0  string // the name we were started by, for the daemon's start
	Stdin  *os.File
	Stdout *os.File
	Stderr io.Writer

	// Patience bounds the start of a daemon, and then the time until it has
	// taken the descriptors (design D8); 0 means 10 s.
	Patience time.Duration
}

// fault is an error that knows what a person can do about it.
type fault struct {
	msg, hint string
	err       error
}

func (f *fault) Error() string { return f.msg }

// Hint says what to do.
func (f *fault) Hint() string { return f.hint }

func (f *fault) Unwrap() error { return f.err }

// Run connects the host on Stdin and Stdout to the daemon and returns when that
// ends: the exit code, and an error for the caller to print when the reason is
// one of ours. What the daemon wants said is on Stderr by then. SIGTERM, SIGINT
// and SIGHUP are how hosts end a server (hosts §4): Run then returns 0 at once,
// and the daemon learns it from the closed connection.
func Run(ctx context.Context, o Options) (int, error) {
	ctx, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	// A host may close its end of our stderr; writing there must not kill us.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	code, err := run(ctx, o, sleepLight)
	if ctx.Err() != nil {
		return 0, nil
	}
	return code, err
}

// Join is Run for a host that is this process: signals are the caller's, who ends
// it through ctx, and memory too.
func Join(ctx context.Context, o Options) (int, error) {
	return run(ctx, o, func() {})
}

func run(ctx context.Context, o Options, asleep func()) (int, error) {
	in, err := newInput(o.Stdin)
	if err != nil {
		return 1, err
	}
	defer in.release()
	out, err := newOutput(o.Stdout)
	if err != nil {
		return 1, err
	}
	defer out.release()
	capsule, err := socket.NewCapsule()
	if err != nil {
		return 1, err
	}
	defer capsule.Close()

	l := &link{o: o, in: in.handed, out: out.handed, capsule: capsule}
	defer l.close()
	defer context.AfterFunc(ctx, l.close)()
	if err := l.attach(ctx, true); err != nil {
		if code, ok := errors.AsType[exit](err); ok {
			return int(code), nil
		}
		return 1, err
	}
	in.start()
	out.start()
	asleep()
	code, err := l.stay(ctx)
	l.close() // the daemon lets go of our pipes now, if it has not yet
	out.wait(ctx)
	return code, err
}

// sleepLight turns the collector off, as one of many that do nothing. It has not
// run yet, since so little was allocated; its first run takes more memory than
// it frees (a third of a MiB), and it would wake us every two minutes. Should
// a shim that copies come to need memory after all, the limit turns it on again.
func sleepLight() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(32 << 20)
}

// endings are the signals that end us, but those we were told to ignore (nohup).
func endings() []os.Signal {
	var all []os.Signal
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

func (o Options) patience() time.Duration {
	if o.Patience == 0 {
		return 10 * time.Second
	}
	return o.Patience
}
