package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/proc"
)

// TestTheDaemonIsKilledUnderTraffic holds design D8: whenever the daemon dies,
// every session goes on, no request stays unanswered, and a call that was in
// flight gets one clear error at most.
func TestTheDaemonIsKilledUnderTraffic(t *testing.T) {
	sessions, kills := 10, 25
	if testing.Short() {
		sessions, kills = 3, 3
	}
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": []`}))
	rnd := rand.New(rand.NewPCG(3, 4))
	var answered, errored atomic.Int64
	progress := make(chan struct{}, 1<<20)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range sessions {
		h := r.Connect(r.Home, "one", "--session", fmt.Sprint("s", i))
		h.Open()
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				text := fmt.Sprintf("%d-%d-%s", i, n, strings.Repeat("x", n%3000))
				m := h.Ask("tools/call", map[string]any{"name": "echo", "arguments": map[string]string{"text": text}})
				switch {
				case m.Error != nil && strings.Contains(m.Error.Message, "daemon was replaced"):
					errored.Add(1)
				case m.Error != nil || rig.Text(m) != text:
					t.Errorf("session %d got %.300s for %.40s", i, m.Line, text)
					return
				default:
					answered.Add(1)
					progress <- struct{}{}
				}
			}
		})
	}
	for range kills {
		pid := r.Status().Daemon.PID
		for range rnd.IntN(20 * sessions) { // any moment of the traffic will do
			<-progress
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for len(progress) > 0 {
			<-progress
		}
		for range 2 * sessions {
			select {
			case <-progress:
			case <-time.After(rig.Wait):
				t.Fatal("no traffic after a kill")
			}
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d kills: %d answered, %d told that their daemon was replaced", kills, answered.Load(), errored.Load())
	if most := int64(kills * sessions); errored.Load() > most {
		t.Errorf("%d errors for %d kills and %d sessions with one call at a time", errored.Load(), kills, sessions)
	}
	st := r.Status()
	if len(st.Sessions) != sessions || st.Sessions[0].Host.Name != "rig" {
		b, _ := json.Marshal(st.Sessions)
		t.Errorf("after the kills %d sessions are open, want %d that are still known by name: %s", len(st.Sessions), sessions, b)
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
