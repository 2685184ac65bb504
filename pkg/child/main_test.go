package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/checks/fakemcp/fake"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// role is the variable that makes the test binary one of the processes below.
const role = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "fakemcp":
		beServer()
	case "report":
		report()
	case "say": // on stderr, with variables filled in
		for _, text := range os.Args[1:] {
			fmt.Fprint(os.Stderr, os.ExpandEnv(text))
		}
	case "deaf": // to TERM, but not for ever
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "deaf", os.Getpid())
		time.Sleep(time.Minute)
	case "ghost": // leaves a deaf orphan without a mark
		leave("deaf", []string{role + "=deaf", "GORACE=atexit_sleep_ms=0"})
	case "with a deaf relative":
		leave("deaf", append(os.Environ(), role+"=deaf"))
		beServer()
	case "with an unmarked relative":
		leave("deaf", []string{role + "=deaf"})
		beServer()
	case "with a ghost":
		cmd := leave("ghost", []string{role + "=ghost", "GORACE=atexit_sleep_ms=0"})
		_ = cmd.Wait()
		beServer()
	}
}

func beServer() { os.Exit(fake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// leave starts a process in a session of its own that holds our stdout.
func leave(name string, env []string) *exec.Cmd {
	cmd := exec.Command(self(), name)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd
}

func self() string {
	file, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return file
}

// facts are what a process can see of how it was started.
type facts struct {
	Argv     []string
	Env      []string
	Cwd      string // from the kernel, not from PWD
	Blocking bool   // 0, 1 and 2 are in blocking mode
}

// report tells the facts on stdout, then waits for the end of stdin.
func report() {
	f := facts{Argv: os.Args[1:], Env: os.Environ(), Blocking: true}
	buf := make([]byte, 4096)
	if n, err := unix.Getcwd(buf); err == nil {
		f.Cwd = string(buf[:n-1])
	}
	for fd := range 3 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK != 0 {
			f.Blocking = false
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(f)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// plan is of the test binary in a role.
func plan(name string, args ...string) spawn.Plan {
	return spawn.Plan{
		Server:  "srv",
		Command: self(),
		Args:    args,
		// The race detector sleeps a second in each exit unless told not to.
		Env: map[string]string{role: name, "GORACE": "atexit_sleep_ms=0"},
	}
}

var starts atomic.Int64

// options have a short grace and a marker that no other start has.
func options(t *testing.T) Options {
	t.Helper()
	return Options{
		Home:   t.TempDir(),
		Marker: fmt.Sprintf("child.test.%d.%d", os.Getpid(), starts.Add(1)),
		Grace:  300 * time.Millisecond,
	}
}

func mustStart(t *testing.T, p spawn.Plan, o Options) *Process {
	t.Helper()
	c, err := Start(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(t.Context()) })
	return c
}

// factsOf starts the plan's program as a reporter, and ends it.
func factsOf(t *testing.T, p spawn.Plan, o Options) facts {
	t.Helper()
	c := mustStart(t, p, o)
	var f facts
	if err := json.NewDecoder(c.Stdout()).Decode(&f); err != nil {
		t.Fatalf("report: %v; stderr %q", err, c.StderrTail())
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return f
}

// ping waits until the server answers, and so has done all it does at start.
func ping(t *testing.T, c *Process) {
	t.Helper()
	if _, err := io.WriteString(c.Stdin(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c.Stdout()).ReadString('\n')
	if err != nil || !strings.Contains(line, `"id":1`) {
		t.Fatalf("answer to ping: %q, %v; stderr %q", line, err, c.StderrTail())
	}
}
