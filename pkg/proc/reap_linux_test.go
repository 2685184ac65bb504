package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStartKnowsItsOwn(t *testing.T) {
	known := func(pid int) bool {
		ours.mu.Lock()
		defer ours.mu.Unlock()
		return ours.has(pid)
	}
	cmd := play("wait")
	pid, stdin := started(t, cmd)
	if !known(pid) {
		t.Error("a process of Start is not ours")
	}
	other := play("wait")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if known(other.Process.Pid) {
		t.Error("a process of another start is ours")
	}
	_ = in.Close()
	_ = other.Wait()
	_ = stdin.Close()
	_ = cmd.Wait()
	if known(pid) {
		t.Error("a process that was waited for is still ours")
	}
}

// The rest runs in a process of its own, since a subreaper is a whole process.
func TestSubreap(t *testing.T) {
	out, err := play("subreaper").Output()
	if err != nil {
		t.Errorf("subreaper: %v: %s", err, out)
	}
}

func beSubreaper() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wait, err := Subreap(ctx)
	if err != nil {
		return complain("Subreap: %v", err)
	}
	for range 20 {
		if err := adoptOne(); err != nil {
			return complain("%v", err)
		}
	}
	cancel()
	wait()
	return 0
}

// adoptOne starts a launcher that leaves an orphan and exits with 7: the orphan
// must become ours and be reaped, and the launcher's status must not be taken.
func adoptOne() error {
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	launcher := play("setsid")
	launcher.Stdin, launcher.Stdout = inR, outW
	if err := Start(launcher); err != nil {
		return err
	}
	_, _ = inR.Close(), outW.Close()
	line, _ := bufio.NewReader(outR).ReadString('\n')
	var orphan int
	if _, err := fmt.Sscanf(line, "ready %d", &orphan); err != nil {
		return fmt.Errorf("orphan said %q", line)
	}
	if exit, ok := errors.AsType[*exec.ExitError](launcher.Wait()); !ok || exit.ExitCode() != 7 {
		return fmt.Errorf("the launcher ended with %v, want exit status 7", exit)
	}
	if e, ok := look(orphan); !ok || e.parent != os.Getpid() {
		return fmt.Errorf("orphan's parent is %d, want %d", e.parent, os.Getpid())
	}
	_ = inW.Close() // its end
	// It is our child until the reaper has it; then the kernel says ECHILD.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if unix.Waitid(unix.P_PID, orphan, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.ECHILD {
			return nil
		}
	}
	return fmt.Errorf("orphan %d was not reaped", orphan)
}

func complain(format string, args ...any) int {
	fmt.Printf(format+"\n", args...)
	return 1
}
