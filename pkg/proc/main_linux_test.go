package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// role is the variable that makes the test binary one of the processes below.
const role = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch name, arg, _ := strings.Cut(os.Getenv(role), " "); name {
	case "":
		os.Exit(m.Run())
	case "wait": // until stdin ends
		fmt.Println("ready", os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "parent": // of arg, until stdin ends
		cmd := play(arg)
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Run(); err != nil {
			os.Exit(1)
		}
	case "setsid": // leaves a waiting process in a session of its own, with no parent
		cmd := play("wait")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
		os.Exit(7)
	case "subreaper":
		os.Exit(beSubreaper())
	}
}

// play is the test binary in a role.
func play(name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	// The race detector sleeps a second in each exit unless told not to.
	cmd.Env = append(os.Environ(), role+"="+name, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// started starts cmd and waits until somebody in it is ready, whose pid it
// returns. Closing the pipe lets all of it end.
func started(t *testing.T, cmd *exec.Cmd) (pid int, stdin io.Closer) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out) // ends when the last of them has ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(line, "ready %d", &pid); err != nil {
		t.Fatal(err)
	}
	return pid, in
}
