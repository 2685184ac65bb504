package child

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// Start starts the plan's program. ctx bounds the start, not the life. Errors
// name the server and the field; one that names a missing program lists the
// directories searched, one about a missing directory says so (report C4). A
// start that fails leaves nothing behind.
func Start(ctx context.Context, p spawn.Plan, o Options) (*Process, error) {
	base, err := o.base(ctx)
	if err != nil {
		return nil, config.Problem{Server: p.Server, Field: "env", Msg: err.Error()}
	}
	secrets, err := readSecrets(ctx, p, base, o.Home)
	if err != nil {
		return nil, err
	}
	dir, err := enter(p, o.Home)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	env := Environ(base, p, secrets, o.Home, dir.path, o.Marker)
	program, err := lookup(p.Command, Value(env, "PATH"))
	if err != nil {
		return nil, commandProblem(p, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, config.Problem{Server: p.Server, Msg: "start: " + err.Error()}
	}
	cmd := &exec.Cmd{
		Path: program,
		Args: append([]string{p.Command}, p.Args...),
		Env:  env,
		Dir:  dir.spawn,
		// A group of its own: signals of a terminal pass it by, and one kill
		// reaches the whole npx, sh, node tree (report B1).
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	child, err := launch(cmd, p.Server, newMask(env, secrets), o)
	if err != nil {
		return nil, commandProblem(p, explainExec(program, err))
	}
	child.log.Debug("started process", "server", p.Server, "key", p.Key, "dir", dir.path, "pid", child.id.PID)
	return child, nil
}

func (o Options) base(ctx context.Context) ([]string, error) {
	if o.Base == nil {
		return os.Environ(), nil
	}
	return o.Base(ctx)
}

// launch starts cmd between three pipes, and the goroutines that look after it.
func launch(cmd *exec.Cmd, server string, m mask, o Options) (*Process, error) {
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = proc.Start(cmd)
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, err
	}
	start, _ := proc.StartTime(cmd.Process.Pid)
	p := &Process{
		server: server,
		marker: o.Marker,
		grace:  o.Grace,
		log:    o.Log,
		mask:   m,
		cmd:    cmd,
		id:     proc.ID{PID: cmd.Process.Pid, Start: start},
		stdin:  ours[0], stdout: ours[1], stderr: ours[2],
		drained:  make(chan struct{}),
		quitting: make(chan struct{}),
		hurried:  make(chan struct{}),
		exited:   make(chan struct{}),
		over:     make(chan struct{}),
		done:     make(chan struct{}),
		kin:      map[proc.ID]int{},
	}
	if p.grace == 0 {
		p.grace = 5 * time.Second
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.quit = sync.OnceFunc(func() { close(p.quitting) })
	p.hurry = sync.OnceFunc(func() { close(p.hurried) })
	p.ended = sync.OnceFunc(func() { close(p.over) })
	p.wg.Go(func() { p.drain(o.OnStderr) })
	p.wg.Go(p.watch)
	p.wg.Go(p.keep)
	return p, nil
}

// openPipes makes stdin, stdout and stderr: our ends and the child's.
func openPipes() (ours, theirs [3]*os.File, err error) {
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:i])
			closeAll(theirs[:i])
			return ours, theirs, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// commandProblem names the server and the field of an error about a program.
func commandProblem(p spawn.Plan, err error) error {
	return config.Problem{Server: p.Server, Field: "command", Msg: err.Error(), Hint: config.HintOf(err)}
}
