package shim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/socket"
)

// starter are options whose daemon is this test binary, in fresh directories.
func starter(t *testing.T, pairs ...string) Options {
	t.Helper()
	d := dirsAt(t.TempDir())
	if err := os.Mkdir(d.Runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, d) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Dirs: d, Argv0: self, Getenv: environment(pairs...)}
}

// Design D13, report L1: twenty at once, one daemon, twenty answers.
func TestManyShimsStartOneDaemon(t *testing.T) {
	o := starter(t)
	var all sync.WaitGroup
	for range 20 {
		h := pipes(t)
		all.Go(func() {
			if diff := cmp.Diff(result{}, h.run(t, o.Dirs, o)); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
		})
	}
	all.Wait()
	if n := len(births(t, o.Dirs)); n != 1 {
		t.Errorf("%d daemons were born, want 1", n)
	}
}

// Threats T4, T15, T19, report L5: nothing of the host reaches the daemon.
func TestStartedDaemonHasNothingOfTheHost(t *testing.T) {
	leak, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	syscall.RawSyscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_SETFD, 0) // as a careless host leaves it
	o := starter(t, "PATH=/usr/bin:/bin", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "LANG=C", "LC_TIME=C", "TERM=dumb", "TMPDIR=/tmp",
		"HOME=/planted", "MCPX_CONFIG=/planted", "XDG_CONFIG_HOME=/planted", "LD_PRELOAD=/planted", "GIT_DIR=/planted", "SECRET=1")
	if err := EnsureDaemon(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	all := births(t, o.Dirs)
	if len(all) != 1 {
		t.Fatalf("%d daemons were born, want 1", len(all))
	}
	log := filepath.Join(o.Dirs.State, "daemon.log")
	want := born{
		PID: all[0].PID, Session: all[0].PID,
		Args: []string{o.Argv0, "daemon", "--autostarted", "--runtime-dir", o.Dirs.Runtime},
		Env: []string{"HOME=" + o.Dirs.Home, "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "TERM=dumb", "TMPDIR=/tmp",
			"PATH=/usr/bin:/bin", "LANG=C", "LC_TIME=C", "MCPX_RUNTIME_DIR=" + o.Dirs.Runtime},
		Files: []string{"0 /dev/null", "1 " + log, "2 " + log},
		Cwd:   o.Dirs.Home,
	}
	if all[0].Files == nil {
		want.Files = nil // no /proc here
	}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Errorf("the daemon (-want +got):\n%s", diff)
	}
	for _, above := range proc.Ancestors(all[0].PID, 64) {
		if above.PID == os.Getpid() {
			t.Error("the daemon is below the host: a host that ends a tree by parent ids takes it along")
		}
	}
	if info, err := os.Stat(log); err != nil || info.Mode() != 0o600 {
		t.Errorf("log: mode %v, %v, want -rw-------", info.Mode(), err)
	}
}

// Report L1: life is an answer, not a file.
func TestKilledDaemonIsReplaced(t *testing.T) {
	o := starter(t)
	for n := 1; n <= 3; n++ {
		if err := EnsureDaemon(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if got := len(births(t, o.Dirs)); got != n {
			t.Fatalf("%d daemons were born, want %d", got, n)
		}
		kill(t, o.Dirs) // -9: its socket stays
		if _, err := os.Lstat(filepath.Join(o.Dirs.Runtime, socket.Attach)); err != nil {
			t.Fatalf("the test is wrong: %v", err)
		}
	}
}

func TestDaemonThatDiesIsQuoted(t *testing.T) {
	o := starter(t)
	os.MkdirAll(o.Dirs.State, 0o700)
	os.WriteFile(filepath.Join(o.Dirs.State, logName), []byte("old words\n"), 0o600)
	os.WriteFile(filepath.Join(o.Dirs.Runtime, "die"), []byte("mcpx: the config is broken\nmcpx: hint: mend it\n"), 0o600)
	began := time.Now()
	got := pipes(t).run(t, o.Dirs, o)
	want := result{
		Code: 1,
		Err:  "the daemon ended as it started: exit status 3; its last words:\n   mcpx: the config is broken\n   mcpx: hint: mend it",
		Hint: "see " + filepath.Join(o.Dirs.State, logName) + ", or run it in the foreground: mcpx daemon",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to notice", took)
	}
}

func TestSilentDaemonIsNamedInTime(t *testing.T) {
	o := starter(t)
	o.Patience = 100 * time.Millisecond
	fifo := filepath.Join(o.Dirs.Runtime, "die") // it hangs on opening this
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	err := EnsureDaemon(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "started but does not answer on "+o.Dirs.Runtime) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for it, and lets it go
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// Report L2: a daemon on its way out, or about to listen, holds the lock; none is
// started beside it.
func TestStartWaitsForTheDaemonLock(t *testing.T) {
	o := starter(t)
	rt, err := socket.OpenRuntime(o.Dirs.Runtime, true)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	leave, _, err := rt.LockDaemon()
	if err != nil {
		t.Fatal(err)
	}
	hasty := o
	hasty.Patience = 50 * time.Millisecond
	err = EnsureDaemon(t.Context(), hasty)
	if want := "a daemon holds the lock in " + o.Dirs.Runtime + " but does not answer"; err == nil || err.Error() != want {
		t.Errorf("while it is held: got %v, want %s", err, want)
	}
	if _, err := os.Stat(filepath.Join(o.Dirs.State, logName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a daemon was started: %v", err)
	}
	got := make(chan error, 1)
	go func() { got <- EnsureDaemon(t.Context(), o) }()
	leave()
	if err := <-got; err != nil || len(births(t, o.Dirs)) != 1 {
		t.Errorf("then: %v, %d daemons born", err, len(births(t, o.Dirs)))
	}
}

func TestNoAutostartIsObeyed(t *testing.T) {
	o := starter(t, noAutostart+"=1")
	got := pipes(t).run(t, o.Dirs, o)
	want := result{
		Code: 1,
		Err:  "no daemon on " + o.Dirs.Runtime + "/attach.sock, and MCPX_NO_AUTOSTART forbids to start one",
		Hint: "unset it, or start one with: mcpx daemon",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	if err := EnsureDaemon(t.Context(), o); !errors.Is(err, socket.ErrNoDaemon) {
		t.Errorf("EnsureDaemon: %v", err)
	}
	if n := len(births(t, o.Dirs)); n != 0 {
		t.Errorf("%d daemons were born", n)
	}
}

func TestLogIsPutAsideWhenLong(t *testing.T) {
	d := place.Dirs{State: filepath.Join(t.TempDir(), "a", "state")}
	path := filepath.Join(d.State, logName)
	write := func(size int) {
		l, err := openLog(d.State)
		if err != nil {
			t.Fatal(err)
		}
		l.Write(make([]byte, size))
		l.Close()
	}
	write(maxLog)
	write(1) // exactly full is not too long
	write(2)
	for name, want := range map[string]int64{path: 2, path + ".1": maxLog + 1} {
		info, err := os.Stat(name)
		if err != nil || info.Size() != want || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v, want %d bytes, -rw-------", name, info, err, want)
		}
	}
	if info, err := os.Stat(d.State); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state directory: %v, %v", info.Mode(), err)
	}
	os.Remove(path)
	os.Symlink("/dev/null", path)
	if _, err := openLog(d.State); err == nil {
		t.Error("a log behind a link was opened")
	}
}
