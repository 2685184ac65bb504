package service

import (
	"strings"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// started is how many daemons connects have started.
func started(r *rig.Rig) int { return strings.Count(r.Log(), `msg="started daemon"`) }

// Two builds that are used in turn, as by two hosts, share one daemon: a newer
// API makes the older daemon leave once, and the older build stops nothing
// (design D13). A session of the older build goes on through it.
func TestTwoBuildsInTurnCostOneRestart(t *testing.T) {
	r := rig.New(t, mcpx, servers("one"))
	first := r.Connect(r.Home, "one")
	first.Open()
	first.Call("echo", map[string]string{"text": "x"})
	for i := range 20 {
		cmd := r.Command("connect", "one")
		if i%2 == 0 {
			cmd.Path, cmd.Args[0] = newer, newer
		}
		h := rig.Start(t, cmd)
		h.Open()
		for _, each := range []*rig.Host{h, first} {
			if got := each.Call("echo", map[string]string{"text": "turn"}); got != "turn" {
				t.Errorf("echo answered %q", got)
			}
		}
		h.Close()
	}
	if got := started(r); got != 2 {
		t.Errorf("%d daemons were started, want 2:\n%s", got, r.Log())
	}
}

// A service's daemon is not a caller's to replace: who is newer hears why.
func TestANewerCallerDoesNotStopAService(t *testing.T) {
	r := rig.New(t, mcpx, servers("one"))
	u := install(t, r)
	u.start()
	u.says("READY=1")
	out, err := r.Command("status").CombinedOutput()
	if err != nil {
		t.Fatalf("status: %v\n%s", err, out)
	}
	cmd := r.Command("connect", "one")
	cmd.Path, cmd.Args[0] = newer, newer
	out, err = cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "systemctl --user restart mcpx") {
		t.Errorf("a newer connect: %v\n%s", err, out)
	}
	if d := r.Status().Daemon; d.PID != u.daemon.Process.Pid {
		t.Errorf("the daemon is %+v, want the service's", d)
	}
}
