package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/socket"
)

// daemonProcess is a private daemon of this program.
type daemonProcess struct {
	executable string
	environ    []string
	runtimeDir string
	log        string // file
	cmd        *exec.Cmd
	gone       chan struct{} // closed when cmd has been waited for
}

const (
	startWait = 10 * time.Second
	stopWait  = 10 * time.Second
)

// start runs a daemon below base, with a home of its own, and returns when it
// answers.
func (o Options) start(ctx context.Context, base string, s server) (*daemonProcess, error) {
	home, run := filepath.Join(base, "home"), filepath.Join(base, "run")
	for _, dir := range []string{home, run} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := writeConfig(filepath.Join(home, ".config", "mcpx", "config.json"), s); err != nil {
		return nil, err
	}
	d := &daemonProcess{
		executable: o.Executable, environ: privateEnv(o.Environ, home), runtimeDir: run,
		log: filepath.Join(base, "daemon.log"), gone: make(chan struct{}),
	}
	out, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	d.cmd = exec.Command(o.Executable, "daemon", "--runtime-dir", run)
	d.cmd.Dir, d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = home, d.environ, out, out
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is ours to handle
	if err := proc.Start(d.cmd); err != nil {
		return nil, err
	}
	go func() { // ends with the process, which stop ends
		d.cmd.Wait()
		close(d.gone)
	}()
	o.progress("starting a daemon")
	if err := d.ready(ctx); err != nil {
		return nil, first(err, d.stop())
	}
	return d, nil
}

// privateEnv is environ with a home of its own and without what would name
// another session, directory or config than the demo's.
func privateEnv(environ []string, home string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "HOME" || name == "PWD" || strings.HasPrefix(name, "MCPX_") || strings.HasPrefix(name, "XDG_") ||
			slices.Contains(api.HelloEnv, name)
	})
	return append(env, "HOME="+home)
}

// ready waits, ever longer, until the daemon answers.
func (d *daemonProcess) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for wait := 2 * time.Millisecond; ; wait *= 2 {
		if _, err := d.status(ctx); err == nil {
			return nil
		} else if !errors.Is(err, socket.ErrNoDaemon) {
			return d.explain(err)
		}
		select {
		case <-d.gone:
			return d.explain(errors.New("the daemon ended at once"))
		case <-ctx.Done():
			return d.explain(fmt.Errorf("the daemon did not answer: %w", ctx.Err()))
		case <-time.After(min(wait, 100*time.Millisecond)):
		}
	}
}

func (d *daemonProcess) status(ctx context.Context) (*api.Status, error) {
	client, err := api.Open(d.runtimeDir)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Status(ctx)
}

// explain adds the daemon's last line, which says why.
func (d *daemonProcess) explain(err error) error {
	data, readErr := os.ReadFile(d.log)
	if readErr != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Errorf("%w; it said: %s", err, last)
	}
	return err
}

// kill ends the daemon as nothing but a crash does. The sessions start the next.
func (d *daemonProcess) kill() {
	syscall.Kill(d.cmd.Process.Pid, syscall.SIGKILL)
	<-d.gone
}

// stop ends the daemon with all its children and waits for it. It does so
// whatever has become of the caller's context: this is the way out.
func (d *daemonProcess) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	d.askToStop(ctx)
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if sig != 0 {
			syscall.Kill(-d.cmd.Process.Pid, sig)
		}
		select {
		case <-d.gone:
			return nil
		case <-time.After(stopWait / 2):
		}
	}
	return fmt.Errorf("the demo's daemon, pid %d, does not end", d.cmd.Process.Pid)
}

// askToStop also ends a daemon that a session has started in place of a dead
// one. The ladder in stop is for when nobody answers.
func (d *daemonProcess) askToStop(ctx context.Context) {
	client, err := api.Open(d.runtimeDir)
	if err != nil {
		syscall.Kill(d.cmd.Process.Pid, syscall.SIGTERM)
		return
	}
	defer client.Close()
	if err := client.Stop(ctx); err != nil {
		syscall.Kill(d.cmd.Process.Pid, syscall.SIGTERM)
	}
}
