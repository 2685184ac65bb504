package child

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/proc"
)

// capture runs cmd, which leads a process group, to its end, or until what it
// wrote to stdout is enough, or until ctx ends. It has no stdin, its stderr goes
// nowhere, and its group does not outlive the call. A process out of reach that
// holds the pipe does not hold the caller.
func capture(ctx context.Context, cmd *exec.Cmd, enough func(out []byte) bool) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd.Stdout = w
	err = proc.Start(cmd)
	_ = w.Close()
	if err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() { // it ends with the program, and the program ends below
		awaitExit(cmd)
		_ = r.SetReadDeadline(time.Now().Add(lastRead))
		close(exited)
	}()
	unhook := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	out, satisfied := readUntil(r, enough)
	unhook()
	awaitAny(ctx, exited, satisfied)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-exited
	if cmd.ProcessState == nil {
		_ = cmd.Wait()
	}
	switch {
	case satisfied:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !cmd.ProcessState.Success():
		return nil, &exec.ExitError{ProcessState: cmd.ProcessState}
	}
	return out, nil
}

// readUntil reads r until enough says so, or to its end or deadline.
func readUntil(r *os.File, enough func([]byte) bool) (out []byte, satisfied bool) {
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		out = append(out, buf[:n]...)
		if enough(out) {
			return out, true
		}
		if err != nil {
			return out, false
		}
	}
}

// awaitAny lets a program end by itself: one whose output is complete has only
// a moment for that, any other until ctx ends.
func awaitAny(ctx context.Context, exited <-chan struct{}, satisfied bool) {
	if satisfied {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lastRead)
		defer cancel()
	}
	select {
	case <-exited:
	case <-ctx.Done():
	}
}
