package shim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/socket"
)

// noAutostart is set where a daemon must not be started: in the login shell that
// a daemon asks for its PATH (design D15), and wherever a person wants it so.
const noAutostart = "MCPX_NO_AUTOSTART"

// EnsureDaemon starts a daemon if none answers, under the start lock, and
// returns when one does (design D13).
func EnsureDaemon(ctx context.Context, o Options) error {
	rt, err := socket.OpenRuntime(o.Dirs.Runtime, true)
	if err != nil {
		return err
	}
	defer rt.Close()
	c, err := o.connect(ctx, rt)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, o.patience())
	defer cancel()
	// It may be systemd that took the connection, and starts a daemon now.
	for !daemonElsewhere(rt) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return &fault{
				msg:  "the service that listens on " + rt.Path() + " started no daemon",
				hint: "look at it: systemctl --user status mcpx",
				err:  ctx.Err(),
			}
		}
	}
	return nil
}

// connect dials the daemon. If there is none it takes the start lock, dials
// again, for another may have been quicker, and starts one.
func (o Options) connect(ctx context.Context, rt *socket.Runtime) (*net.UnixConn, error) {
	c, err := rt.Dial(socket.Attach)
	if !errors.Is(err, socket.ErrNoDaemon) {
		return c, err
	}
	if o.Getenv(noAutostart) != "" {
		return nil, &fault{
			msg:  fmt.Sprintf("%v, and %s forbids to start one", err, noAutostart),
			hint: "unset it, or start one with: mcpx daemon",
			err:  err,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.patience())
	defer cancel()
	unlock, err := rt.LockStart(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err = rt.Dial(socket.Attach)
	if !errors.Is(err, socket.ErrNoDaemon) {
		return c, err
	}
	return o.launch(ctx, rt)
}

// succeed is connect after a daemon that said that it leaves: it takes the start
// lock first and then waits for that to be gone, so that a newer build starts the
// next one, not the older ones whose sessions that had (design D13).
func (o Options) succeed(leaving int) func(context.Context, *socket.Runtime) (*net.UnixConn, error) {
	return func(ctx context.Context, rt *socket.Runtime) (*net.UnixConn, error) {
		if o.Getenv(noAutostart) != "" {
			return o.connect(ctx, rt)
		}
		ctx, cancel := context.WithTimeout(ctx, o.patience())
		defer cancel()
		unlock, err := rt.LockStart(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
		for {
			if pid, running, err := rt.Daemon(); err != nil || !running || pid != leaving {
				break
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return nil, o.unheard(ctx, rt)
			}
		}
		c, err := rt.Dial(socket.Attach)
		if !errors.Is(err, socket.ErrNoDaemon) {
			return c, err
		}
		return o.launch(ctx, rt)
	}
}

// unheard is a daemon that holds the lock for too long.
func (o Options) unheard(ctx context.Context, rt *socket.Runtime) error {
	return &fault{
		msg:  "a daemon holds the lock in " + rt.Path() + " but does not answer",
		hint: "it may be starting or stopping; see: mcpx status",
		err:  ctx.Err(),
	}
}

// launch starts a daemon and waits until it answers. While another process
// holds the daemon lock, none is started: that one is on its way out, or about
// to listen (report L2).
func (o Options) launch(ctx context.Context, rt *socket.Runtime) (*net.UnixConn, error) {
	program, err := o.program()
	if err != nil {
		return nil, err
	}
	for {
		if !daemonElsewhere(rt) {
			c, err := o.startOnce(ctx, rt, program)
			if _, early := errors.AsType[*earlyExit](err); !early || !daemonElsewhere(rt) {
				return c, err
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, o.unheard(ctx, rt)
		}
		c, err := rt.Dial(socket.Attach)
		if !errors.Is(err, socket.ErrNoDaemon) {
			return c, err
		}
	}
}

func daemonElsewhere(rt *socket.Runtime) bool {
	_, running, err := rt.Daemon()
	return running && err == nil
}

// earlyExit is a daemon that ended before it answered.
type earlyExit struct{ fault }

// startOnce starts a detacher, which starts the daemon, and dials once it has
// ended well.
func (o Options) startOnce(ctx context.Context, rt *socket.Runtime, program string) (*net.UnixConn, error) {
	log, err := openLog(o.Dirs.State)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := o.command(program, rt, "--detach")
	cmd.Stdout, cmd.Stderr = log.File, log.File // and stdin is /dev/null
	if err := proc.Start(cmd); err != nil {
		return nil, &fault{
			msg:  fmt.Sprintf("the daemon did not start: %v", err),
			hint: "start it by hand: mcpx daemon",
			err:  err,
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it bounds itself
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	hint := "see " + log.Name() + ", or run it in the foreground: mcpx daemon"
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != unanswered {
		return nil, &earlyExit{fault{msg: fmt.Sprintf("the daemon ended as it started: %v%s", exit, log.lastWords()), hint: hint}}
	}
	if err != nil {
		return nil, &fault{msg: fmt.Sprintf("the daemon started but does not answer on %s%s", rt.Path(), log.lastWords()), hint: hint, err: err}
	}
	return rt.Dial(socket.Attach)
}

// command is a start of the daemon's program, in a session of its own: signals
// of the host's terminal and group pass it by.
func (o Options) command(program string, rt *socket.Runtime, how string) *exec.Cmd {
	return &exec.Cmd{
		Path:        program,
		Args:        []string{program, "daemon", how, "--runtime-dir", rt.Path()},
		Dir:         o.Dirs.Home,
		Env:         o.daemonEnv(rt.Path()),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
}

// unanswered is a detacher's exit code when the daemon neither answered nor
// ended in time (EX_TEMPFAIL).
const unanswered = 75

// Detach is what stands for a moment between a shim and the daemon it starts:
// it starts the daemon, waits until that answers, and ends, so that the daemon
// is not below the host. Hosts that end a server's tree by parent ids would take
// it along otherwise, and with it every other session. It returns the exit code:
// the daemon's own when that ended instead of answering.
func Detach(ctx context.Context, o Options) (int, error) {
	rt, err := socket.OpenRuntime(o.Dirs.Runtime, true)
	if err != nil {
		return 1, err
	}
	defer rt.Close()
	program, err := o.program()
	if err != nil {
		return 1, err
	}
	cmd := o.command(program, rt, "--autostarted")
	cmd.Stdout, cmd.Stderr = o.Stdout, o.Stderr
	if err := proc.Start(cmd); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, o.patience())
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 10*time.Millisecond) {
		c, err := rt.Dial(socket.Attach)
		if !errors.Is(err, socket.ErrNoDaemon) {
			if err == nil {
				err = c.Close()
			}
			return 0, err
		}
		select {
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
				return exit.ExitCode(), nil // it has said why
			}
			return 1, nil
		case <-time.After(wait):
		case <-ctx.Done():
			return unanswered, nil
		}
	}
}

// daemonEnv is a login-like base and nothing of the host's own (design D15,
// threat T4): MCPX_CONFIG and XDG_* in particular are not in it.
func (o Options) daemonEnv(runtimeDir string) []string {
	env := []string{"HOME=" + o.Dirs.Home}
	for _, name := range []string{
		"USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "PATH", "LANG",
		"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
		"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
	} {
		if v := o.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "MCPX_RUNTIME_DIR="+runtimeDir)
}

// logName is the autostarted daemon's log in the state directory.
const logName = "daemon.log"
