package proc

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestAlive(t *testing.T) {
	cmd := play("wait")
	pid, stdin := started(t, cmd)
	start, ok := StartTime(pid)
	if !ok || start == 0 {
		t.Fatalf("StartTime: got %d, %v", start, ok)
	}
	id := ID{PID: pid, Start: start}
	if !id.Alive() {
		t.Error("a running process is not alive")
	}
	if (ID{PID: pid, Start: start + 1}).Alive() {
		t.Error("a process that began at another time is alive")
	}
	_ = stdin.Close()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("a zombie is alive")
	}
	if now, ok := StartTime(pid); !ok || now != start {
		t.Errorf("StartTime of a zombie: got %d, %v, want %d", now, ok, start)
	}
}

func TestSignalSparesARecycledPID(t *testing.T) {
	cmd := play("wait")
	pid, stdin := started(t, cmd)
	start, _ := StartTime(pid)
	if err := (ID{PID: pid, Start: start - 1}).Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal: got %v, want %v", err, os.ErrProcessDone)
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v, want no error", err)
	}
	if err := (ID{PID: pid, Start: start}).Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal after its end: got %v, want %v", err, os.ErrProcessDone)
	}
}

func TestAncestors(t *testing.T) {
	cmd := play("parent wait")
	cmd.Args = []string{"launcher of a wait"}
	pid, _ := started(t, cmd)
	self, _ := StartTime(os.Getpid())
	parent, _ := StartTime(cmd.Process.Pid)
	want := []Info{
		{ID: ID{PID: cmd.Process.Pid, Start: parent}, UID: os.Getuid(), Argv: cmd.Args},
		{ID: ID{PID: os.Getpid(), Start: self}, UID: os.Getuid(), Argv: os.Args},
	}
	if diff := cmp.Diff(want, Ancestors(pid, 2)); diff != "" {
		t.Errorf("Ancestors(%d, 2) (-want +got):\n%s", pid, diff)
	}
	if diff := cmp.Diff(want[:1], Ancestors(pid, 1)); diff != "" {
		t.Errorf("Ancestors(%d, 1) (-want +got):\n%s", pid, diff)
	}
	for _, in := range Ancestors(pid, 100) {
		if in.PID <= 1 || in.UID != os.Getuid() {
			t.Errorf("Ancestors names %+v", in)
		}
	}
}

func TestCwd(t *testing.T) {
	for _, name := range []string{"plain", "with space", "odd (deleted)"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := play("wait")
			cmd.Dir = dir
			pid, _ := started(t, cmd)
			if got, ok := Cwd(pid); !ok || got != dir {
				t.Errorf("Cwd: got %q, %v, want %q", got, ok, dir)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			if got, ok := Cwd(pid); ok {
				t.Errorf("Cwd of a directory that is gone: got %q, want not ok", got)
			}
		})
	}
}

func TestRSS(t *testing.T) {
	if got := RSS(os.Getpid()); got < 1<<20 {
		t.Errorf("RSS of this process: got %d bytes", got)
	}
	if got := RSS(1 << 30); got != 0 {
		t.Errorf("RSS of no process: got %d, want 0", got)
	}
}

func TestKin(t *testing.T) {
	tests := []struct {
		name, role, marker string
		group              bool // in the leader's group
		found              bool
	}{
		{"a child is kin", "parent wait", "", true, true},
		{"so is a grandchild", "parent parent wait", "", true, true},
		{"an orphan in a session of its own is known by its mark", "setsid", "proc.test.1", false, true},
		{"and not by another's mark", "setsid", "proc.test.2", false, false},
		{"nor without one", "setsid", "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := play(tt.role)
			cmd.Env = append(cmd.Env, "MCPX_INSTANCE=proc.test.1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			pid, _ := started(t, cmd)
			start, _ := StartTime(cmd.Process.Pid)
			if tt.role == "setsid" { // its parent is gone before we look
				if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
					t.Fatal(err)
				}
			}
			var found bool
			for _, m := range Kin(ID{PID: cmd.Process.Pid, Start: start}, tt.marker) {
				if m.PID == pid {
					found = true
					if got := m.Group == cmd.Process.Pid; got != tt.group {
						t.Errorf("Kin: in the leader's group %v, want %v", got, tt.group)
					}
				}
			}
			if found != tt.found {
				t.Errorf("Kin finds it: got %v, want %v", found, tt.found)
			}
		})
	}
}

func TestKinOfARecycledLeaderAreNone(t *testing.T) {
	cmd := play("parent wait")
	started(t, cmd)
	start, _ := StartTime(cmd.Process.Pid)
	if kin := Kin(ID{PID: cmd.Process.Pid, Start: start - 1}, ""); len(kin) > 0 {
		t.Errorf("Kin: got %v, want none", kin)
	}
}
