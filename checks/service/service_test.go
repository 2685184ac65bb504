package service

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// servers is a config of fake servers.
func servers(names ...string) string {
	all := map[string]any{}
	for _, name := range names {
		all[name] = map[string]any{"command": fakemcp}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": all})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A host that comes first waits for systemd's daemon, starts none, and leaves
// nothing of its own environment to anybody.
func TestServiceServesWhoeverComesFirstInItsOwnEnvironment(t *testing.T) {
	r := rig.New(t, mcpx, servers("one"))
	u := install(t, r, "FROM_SERVICE=yes")
	host := r.Command("connect", "one")
	host.Env = append(slices.Clone(r.Env), "PATH=/opt/host/bin:"+os.Getenv("PATH"), "FROM_HOST=yes", "XDG_CONFIG_HOME=/nowhere")
	h := rig.Start(t, host)
	u.wanted("attach")
	if u.knocks("control", 300*time.Millisecond) { // a slow start
		t.Error("connect asks on the control socket")
	}
	u.start()
	u.says("READY=1")
	h.Open()
	got := map[string]string{}
	for _, name := range []string{"PATH", "HOME", "FROM_SERVICE", "FROM_HOST", "XDG_CONFIG_HOME", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET"} {
		if v := h.Call("env", map[string]string{"text": name}); v != "" {
			got[name] = v
		}
	}
	want := map[string]string{"PATH": "/usr/bin:/bin", "HOME": r.Home, "FROM_SERVICE": "yes"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the child has %v, want %v", got, want)
	}
	s := r.Status()
	if !s.Daemon.Supervised || s.Daemon.PID != u.daemon.Process.Pid || !slices.Equal(s.Daemon.Path, []string{"/usr/bin", "/bin"}) {
		t.Errorf("status says %+v", s.Daemon)
	}
	if _, err := os.Stat(filepath.Join(r.Home, ".local/state/mcpx/daemon.log")); !os.IsNotExist(err) {
		t.Errorf("a daemon was started beside systemd's: %v", err)
	}
}

func TestServiceStopsCleanlyAndLeavesTheSockets(t *testing.T) {
	r := rig.New(t, mcpx, servers("one"))
	u := install(t, r)
	u.start()
	u.says("READY=1")
	h := r.Connect(r.Home, "one")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	child := r.Instances("one")[0].PID
	if code := u.stop(); code != 0 {
		t.Errorf("SIGTERM: exit code %d, want 0\n%s", code, u.errs.String())
	}
	u.says("STOPPING=1")
	if err := syscall.Kill(child, 0); err != syscall.ESRCH {
		t.Errorf("the server lives on: %v", err)
	}
	for _, name := range []string{"attach", "control"} {
		if _, err := os.Lstat(filepath.Join(r.Run, name+".sock")); err != nil {
			t.Errorf("systemd's socket is gone: %v", err)
		}
	}
	// The connection that is open asks for no daemon while its host is silent,
	// and is there again when it is not.
	if u.knocks("attach", 100*time.Millisecond) {
		t.Error("an idle connection would have systemd start the daemon again")
	}
	answer := make(chan string)
	go func() { answer <- h.Call("echo", map[string]string{"text": "again"}) }()
	u.wanted("attach")
	u.start()
	u.says("READY=1")
	if got := <-answer; got != "again" {
		t.Errorf("after the restart: %q", got)
	}
}

func TestLookingDoesNotStartAService(t *testing.T) {
	r := rig.New(t, mcpx, servers("one"))
	u := install(t, r)
	for _, command := range []string{"status", "stop", "doctor"} {
		out, err := r.Command(command).CombinedOutput()
		if (err == nil) != (command != "status") {
			t.Errorf("mcpx %s: %v\n%s", command, err, out)
		}
		if u.knocks("control", 0) || u.knocks("attach", 0) {
			t.Fatalf("mcpx %s would have systemd start the daemon", command)
		}
	}
	u.start()
	u.says("READY=1")
	began := time.Now()
	r.Mcpx("stop")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stop took %v", took)
	}
	if u.knocks("control", 50*time.Millisecond) {
		t.Error("stop would have systemd start the daemon again")
	}
}

// Whoever used mcpx before the service was installed has a daemon already. It
// sees that its sockets are no longer its own, and the service waits for it.
func TestServiceTakesOverFromADaemonThatConnectStarted(t *testing.T) {
	r := rig.New(t, mcpx, servers("one"))
	h := r.Connect(r.Home, "one")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	first := r.Status().Daemon.PID
	u := install(t, r)
	u.start()
	u.says("READY=1")
	if got := h.Call("echo", map[string]string{"text": "over"}); got != "over" {
		t.Errorf("the connection that was open answered %q", got)
	}
	if d := r.Status().Daemon; d.PID == first || d.PID != u.daemon.Process.Pid || !d.Supervised {
		t.Errorf("the daemon is %+v, want the service's", d)
	}
}

// What only a login shell finds is missing for a service, and both the start and
// doctor say where was searched (report O3).
func TestMissingProgramIsNamedWithWhereItWasSearched(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {"tool": {"command": "only-in-a-login-shell"}}}`)
	bin := filepath.Join(r.Home, "tools")
	r.Write(filepath.Join(bin, "only-in-a-login-shell"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(bin, "only-in-a-login-shell"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Env = append(r.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	u := install(t, r)
	u.start()
	u.says("READY=1")
	h := r.Connect(r.Home, "tool")
	said := string(h.Ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "rig", "version": "1"}}).Line)
	if !strings.Contains(said, "searched") {
		h.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		said = string(h.Ask("tools/call", map[string]any{"name": "x"}).Line)
	}
	doctor, err := r.Command("doctor").CombinedOutput()
	if err == nil {
		t.Error("doctor found nothing wrong")
	}
	for _, text := range []string{said, string(doctor)} {
		if !strings.Contains(text, "only-in-a-login-shell") || !strings.Contains(text, "searched /usr/bin, /bin") {
			t.Errorf("does not name the program and /usr/bin, /bin:\n%s", text)
		}
	}
	if !strings.Contains(string(doctor), "this shell finds "+bin) {
		t.Errorf("doctor does not say where it is:\n%s", doctor)
	}
}

// until asks for the status until it is as wanted, for 2 s.
func until(t *testing.T, r *rig.Rig, what string, ok func(api.Status) bool) {
	t.Helper()
	began := time.Now()
	r.Until(what, ok)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%s took %v, more than 2 s", what, took)
	}
}
