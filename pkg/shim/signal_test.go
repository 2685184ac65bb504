package shim

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Hosts §4: claude ends a server by SIGINT, codex by SIGTERM, a terminal by
// SIGHUP. The shim goes at once and quietly, and the daemon hears of it.
func TestSignalsEndAShim(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			d, h := dirsAt(t.TempDir()), sockets(t)
			adopted, gone := make(chan bool), make(chan bool)
			go serve(listening(t, d), func(s *served) {
				flags, _ := fcntl(s.in, unix.F_GETFL, 0)
				fcntl(s.in, unix.F_SETFL, flags|unix.O_NONBLOCK)
				s.say(`{"adopted":true}`)
				adopted <- true
				io.Copy(io.Discard, s.conn)
				gone <- true
			})
			before := flagsOf(t, h.stdin)
			var stderr bytes.Buffer
			shim := connectCommand(t, d.Runtime, h)
			shim.Stderr = &stderr
			if err := shim.Start(); err != nil {
				t.Fatal(err)
			}
			<-adopted
			shim.Process.Signal(sig)
			<-gone
			if err := shim.Wait(); err != nil || stderr.Len() != 0 {
				t.Errorf("it ended with %v and said %q, want nothing", err, &stderr)
			}
			if after := flagsOf(t, h.stdin); after != before {
				t.Errorf("flags were %#x and are %#x", before, after)
			}
		})
	}
}

// A host that has closed our stderr must not lose the connection by it.
func TestShimSurvivesABrokenStderr(t *testing.T) {
	d, h := dirsAt(t.TempDir()), pipes(t)
	go serve(listening(t, d), func(s *served) {
		s.say(`{"adopted":true}`, `{"stderr":"nobody hears this"}`, `{"end":5}`)
		io.Copy(io.Discard, s.conn)
	})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	shim := connectCommand(t, d.Runtime, h)
	shim.Stderr = w
	err = shim.Run()
	w.Close()
	if shim.ProcessState.ExitCode() != 5 {
		t.Errorf("it ended with %v, want exit status 5", err)
	}
}

func connectCommand(t *testing.T, runtimeDir string, h host) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "connect", runtimeDir)
	cmd.Env = []string{noAutostart + "=1", "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin, cmd.Stdout = h.stdin, h.stdout
	return cmd
}
