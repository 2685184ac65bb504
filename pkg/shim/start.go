package shim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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
	return c.Close()
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
			return nil, &fault{
				msg:  "a daemon holds the lock in " + rt.Path() + " but does not answer",
				hint: "it may be starting or stopping; see: mcpx status",
				err:  ctx.Err(),
			}
		}
		c, err := rt.Dial(socket.Attach)
		if !errors.Is(err, socket.ErrNoDaemon) {
			return c, err
		}
	}
}

func daemonElsewhere(rt *socket.Runtime) bool {
	unlock, held, err := rt.LockDaemon()
	if held {
		unlock()
	}
	return !held && err == nil
}

// earlyExit is a daemon that ended before it answered.
type earlyExit struct{ fault }

func (o Options) startOnce(ctx context.Context, rt *socket.Runtime, program string) (*net.UnixConn, error) {
	log, err := openLog(o.Dirs.State)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Cmd{
		Path:        program,
		Args:        []string{program, "daemon", "--autostarted", "--runtime-dir", rt.Path()},
		Dir:         o.Dirs.Home,
		Env:         o.daemonEnv(rt.Path()),
		Stdout:      log.File, // and stdin is /dev/null
		Stderr:      log.File,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := proc.Start(&cmd); err != nil {
		return nil, &fault{
			msg:  fmt.Sprintf("the daemon did not start: %v", err),
			hint: "start it by hand: mcpx daemon",
			err:  err,
		}
	}
	// It outlives us; its end is only of interest until it answers.
	defer cmd.Process.Release()
	return await(ctx, rt, cmd.Process.Pid, log)
}

// await dials with growing waits, until the daemon answers, ends, or ctx does.
func await(ctx context.Context, rt *socket.Runtime, pid int, log *logFile) (*net.UnixConn, error) {
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		status, ended := exited(pid) // before the dial: a dying daemon may have answered
		c, err := rt.Dial(socket.Attach)
		if !errors.Is(err, socket.ErrNoDaemon) {
			return c, err
		}
		if ended {
			return nil, &earlyExit{fault{
				msg:  "the daemon ended as it started: " + status + log.lastWords(),
				hint: "see " + log.Name() + ", or run it in the foreground: mcpx daemon",
			}}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, &fault{
				msg:  fmt.Sprintf("the daemon (pid %d) started but does not answer on %s%s", pid, rt.Path(), log.lastWords()),
				hint: "see " + log.Name() + ", or run it in the foreground: mcpx daemon",
				err:  ctx.Err(),
			}
		}
	}
}

// exited asks about one child of ours without waiting, and reaps it.
func exited(pid int) (status string, ended bool) {
	var ws unix.WaitStatus
	if got, _ := unix.Wait4(pid, &ws, unix.WNOHANG, nil); got != pid {
		return "", false
	}
	if ws.Signaled() {
		return "killed by " + unix.SignalName(ws.Signal()), true
	}
	return fmt.Sprintf("exit status %d", ws.ExitStatus()), true
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
