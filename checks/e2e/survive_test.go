package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/checks/storm"
	"github.com/dezren39/mcpx/pkg/proc"
)

// TestTheDaemonIsKilledUnderTraffic holds design D8: whenever the daemon dies,
// every session goes on, no request stays unanswered, one answer a death and
// connection may be followed by a stray error, and nothing of the dead one lives.
// STORM_KILLS and STORM_SEED make it longer, or like one that failed.
func TestTheDaemonIsKilledUnderTraffic(t *testing.T) {
	sessions, usual := 20, 50
	if testing.Short() {
		sessions, usual = 4, 5
	}
	kills, seed := storm.Count("STORM_KILLS", usual), storm.Seed(t)
	r := rig.New(t, mcpx, config(map[string]string{
		"plain":    `"args": []`,
		"stubborn": `"args": ["-ignore-eof", "-child-setsid"]`,
	}))
	c := &storm.Crowd{R: r}
	for i := range sessions {
		c.Add(storm.Connect(r, mcpx, r.Home, []string{"plain", "plain", "stubborn"}[i%3], storm.Options{
			Label: fmt.Sprint("s", i), Seed: seed + uint64(i), Habit: []storm.Habit{storm.Quick, storm.Quick, storm.Slow, storm.Stuck}[i%4],
		}))
	}
	rnd := rand.New(rand.NewPCG(seed, 4))
	c.Recovered()
	for n := range kills {
		<-time.After(time.Duration(rnd.IntN(200)) * time.Millisecond) // any moment of the traffic will do
		c.Signal(storm.Kill)
		if n < kills-1 && rnd.IntN(2) == 0 {
			continue // the next one has not recovered from this
		}
		c.Recovered()
		c.One()
	}
	st := r.Status()
	if len(st.Sessions) != sessions || st.Sessions[0].Host.Name != "storm" {
		b, _ := json.Marshal(st.Sessions)
		t.Errorf("after the kills %d sessions are open, want %d that are still known by name: %s", len(st.Sessions), sessions, b)
	}
	sum := c.End()
	t.Logf("%d kills: %+v", kills, sum)
	if sum.Answered < kills*sessions/4 {
		t.Errorf("only %d requests were answered: was there traffic?", sum.Answered)
	}
}

// TestAStoppedDaemonComesBackForAHostThatSpeaks is the orderly way: nothing is
// lost, and no daemon runs for hosts that say nothing.
func TestAStoppedDaemonComesBackForAHostThatSpeaks(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": []`}))
	h := r.Connect(r.Home, "one")
	h.Roots = func() []string { return []string{r.Home} }
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	for range 3 {
		first := r.Status().Daemon.PID
		r.Mcpx("stop")
		if err := r.Command("status").Run(); err == nil {
			t.Error("a daemon runs although no host said anything")
		}
		if got := h.Call("echo", map[string]string{"text": "y"}); got != "y" {
			t.Errorf("after a stop echo answered %q", got)
		}
		st := r.Status()
		if st.Daemon.PID == first || len(st.Sessions) != 1 || st.Sessions[0].Cwd.Origin != "roots" {
			t.Errorf("after a stop: %+v", st.Sessions)
		}
	}
}

// TestAStopInTheMiddleOfALineLosesNothing: the host is in the middle of a line
// when the daemon goes, and has answers that it has not read.
func TestAStopInTheMiddleOfALineLosesNothing(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": []`}))
	h := r.Connect(r.Home, "one")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	for i, end := range []func(){
		func() { r.Mcpx("stop") },
		func() { r.Kill(syscall.SIGTERM) },
		func() { r.Kill(syscall.SIGKILL) },
	} {
		id := fmt.Sprint(1000 + i)
		answer := h.Expect(id)
		h.Write(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arg`)
		r.Status() // time enough to read it
		end()
		h.Write(`uments":{"text":"whole"}},"id":` + id + "}\n")
		if m := h.Await(answer, "the line that was cut in two"); rig.Text(m) != "whole" {
			t.Errorf("it was answered %s", m.Line)
		}
	}
}

// TestTheNextDaemonEndsWhatTheLastOneLeft: a server that ignores the end of its
// input outlives a daemon that is killed, but not the next one's first start.
func TestTheNextDaemonEndsWhatTheLastOneLeft(t *testing.T) {
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"stubborn": {"command": %q, "args": ["-ignore-eof", "-ignore-term"]}},
		"daemon": {"stopGrace": "100ms"}}`, fakemcp))
	h := r.Connect(r.Home, "stubborn")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	left := r.Instances("stubborn")[0].PID
	if err := syscall.Kill(r.Status().Daemon.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := h.Call("echo", map[string]string{"text": "y"}); got != "y" {
		t.Errorf("the next server answered %q", got)
	}
	if now := r.Instances("stubborn")[0].PID; now == left {
		t.Errorf("process %d serves two daemons", now)
	}
	if start, alive := proc.StartTime(left); alive && (proc.ID{PID: left, Start: start}).Alive() {
		t.Errorf("process %d of the dead daemon still runs beside its successor", left)
	}
}
