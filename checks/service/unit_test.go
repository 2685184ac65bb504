package service

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/checks/rig"
)

// unit is a service with two sockets, and so much of systemd as it needs: it
// listens, starts the daemon on demand, and hears how it fares.
type unit struct {
	t       *testing.T
	r       *rig.Rig
	env     []string
	sockets map[string]*net.UnixListener
	notes   *net.UnixConn

	daemon *exec.Cmd
	errs   bytes.Buffer // of the daemon; to be read once it has ended
}

// install makes the sockets, in the place of those that are there, and no
// daemon. The environment is a service's.
func install(t *testing.T, r *rig.Rig, env ...string) *unit {
	t.Helper()
	if err := os.MkdirAll(r.Run, 0o700); err != nil {
		t.Fatal(err)
	}
	u := &unit{t: t, r: r, sockets: map[string]*net.UnixListener{}}
	notify := filepath.Join(filepath.Dir(r.Run), "notify")
	var err error
	if u.notes, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	u.env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + r.Home, "MCPX_RUNTIME_DIR=" + r.Run, "NOTIFY_SOCKET=" + notify,
		"LISTEN_FDS=2", "LISTEN_FDNAMES=control:attach"}, env...)
	for _, name := range []string{"attach", "control"} {
		path := filepath.Join(r.Run, name+".sock")
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		u.sockets[name] = l
	}
	t.Cleanup(u.uninstall)
	return u
}

// uninstall stops the service and listens no more.
func (u *unit) uninstall() {
	for name, l := range u.sockets {
		l.Close()
		_ = os.Remove(filepath.Join(u.r.Run, name+".sock"))
	}
	u.sockets = nil
	u.stop()
	u.notes.Close()
	_ = os.Remove(filepath.Join(filepath.Dir(u.r.Run), "notify"))
}

// start starts the daemon. The sockets come in another order than one may think.
func (u *unit) start() {
	u.t.Helper()
	u.daemon = exec.Command(os.Args[0], "activate", mcpx, "daemon")
	u.daemon.Env, u.daemon.Dir, u.daemon.Stderr = u.env, "/", &u.errs
	for _, name := range []string{"control", "attach"} {
		f, err := u.sockets[name].File()
		if err != nil {
			u.t.Fatal(err)
		}
		defer f.Close()
		u.daemon.ExtraFiles = append(u.daemon.ExtraFiles, f)
	}
	if err := u.daemon.Start(); err != nil {
		u.t.Fatal(err)
	}
}

// says waits until the daemon notifies of a state.
func (u *unit) says(state string) {
	u.t.Helper()
	if err := u.notes.SetReadDeadline(time.Now().Add(rig.Wait)); err != nil {
		u.t.Fatal(err)
	}
	var heard []string
	for buf := make([]byte, 4096); ; {
		n, err := u.notes.Read(buf)
		if err != nil {
			u.t.Fatalf("the daemon never said %s but %q: %v\n%s", state, heard, err, u.errs.String())
		}
		if heard = append(heard, string(buf[:n])); strings.HasPrefix(string(buf[:n]), state+"\nSTATUS=") {
			return
		}
	}
}

// wanted waits until somebody connects, and leaves him waiting.
func (u *unit) wanted(name string) {
	u.t.Helper()
	if !u.knocks(name, rig.Wait) {
		u.t.Fatalf("nobody connected to the %s socket", name)
	}
}

func (u *unit) knocks(name string, within time.Duration) bool {
	u.t.Helper()
	raw, err := u.sockets[name].SyscallConn()
	if err != nil {
		u.t.Fatal(err)
	}
	knocked := false
	err = raw.Control(func(fd uintptr) {
		for until := time.Now().Add(within); ; {
			left := max(0, time.Until(until))
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
			if err != unix.EINTR {
				knocked = n == 1 && err == nil
				return
			}
		}
	})
	return knocked && err == nil
}

// stop ends the daemon as systemd does, and returns its exit code.
func (u *unit) stop() int {
	if u.daemon == nil {
		return 0
	}
	if u.daemon.ProcessState == nil {
		_ = u.daemon.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(rig.Wait, func() { _ = u.daemon.Process.Kill() })
		defer late.Stop()
		_ = u.daemon.Wait()
	}
	return u.daemon.ProcessState.ExitCode()
}
