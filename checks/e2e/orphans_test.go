package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// troublesome are servers that do not end as they should, by their flags; one is
// stopped in its tracks besides.
var troublesome = []string{
	"",
	"-wrap",
	"-ignore-eof",
	"-ignore-eof -ignore-term",
	"-child",
	"-child-setsid",
	"-wrap -child",
	"-wrap -ignore-eof -ignore-term -child-setsid",
	"-stop-reading",
}

// TestNoStopLeavesAProcess ends troublesome servers in each way there is, and
// wants every process that came of them gone (design D16, report B1).
func TestNoStopLeavesAProcess(t *testing.T) {
	ways := []struct {
		name string
		end  func(r *rig.Rig, h *rig.Host)
	}{
		{"idle", func(r *rig.Rig, _ *rig.Host) {
			r.Until("all idle ones are reaped", func(s api.Status) bool { return len(s.Instances) == 0 })
		}},
		{"restart", func(r *rig.Rig, _ *rig.Host) { r.Mcpx("restart") }},
		{"stop", func(r *rig.Rig, _ *rig.Host) { r.Mcpx("stop") }},
		{"SIGTERM", func(r *rig.Rig, _ *rig.Host) { r.Kill(syscall.SIGTERM) }},
		{"the daemon's death", func(r *rig.Rig, h *rig.Host) {
			r.Kill(syscall.SIGKILL)
			h.Call("echo", nil) // the next daemon's first start comes after
		}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			if way.name == "idle" && testing.Short() {
				t.Skip("the reaper looks every 5 s")
			}
			idle := "5m"
			if way.name == "idle" {
				idle = "200ms"
			}
			r, hosts := trouble(t, idle)
			before := r.Children()
			if want := len(troublesome) + 9; len(before) < want { // wrapped ones and grandchildren
				t.Fatalf("%d processes run, want %d at least: %+v", len(before), want, before)
			}
			way.end(r, hosts[0])
			if left := r.Gone(func(p rig.Process) bool {
				return slices.ContainsFunc(before, func(b rig.Process) bool { return b.PID == p.PID && b.Mark == p.Mark })
			}); len(left) > 0 {
				t.Errorf("there live: %+v\n%s", left, r.Log())
			}
			for _, d := range r.Daemons() {
				if z := rig.Zombies(d.PID); len(z) > 0 {
					t.Errorf("the daemon has not reaped %v", z)
				}
			}
		})
	}
}

// trouble starts each troublesome server, and stops one in its tracks.
func trouble(t *testing.T, idle string) (*rig.Rig, []*rig.Host) {
	t.Helper()
	servers := map[string]string{}
	for i, flags := range troublesome {
		quoted := ""
		if flags != "" {
			quoted = `"` + strings.Join(strings.Fields(flags), `", "`) + `"`
		}
		servers[fmt.Sprint("s", i)] = fmt.Sprintf(`"args": [%s], "mcpx": {"idleTimeout": %q, "callTimeout": "500ms"}`, quoted, idle)
	}
	servers["tracks"] = fmt.Sprintf(`"args": ["-child"], "mcpx": {"idleTimeout": %q}`, idle)
	r := rig.New(t, mcpx, strings.TrimSuffix(config(servers), "}")+`, "daemon": {"stopGrace": "100ms"}}`)
	var hosts []*rig.Host
	for i := range len(servers) {
		name := fmt.Sprint("s", i)
		if i == len(servers)-1 {
			name = "tracks"
		}
		h := r.Connect(r.Home, name)
		h.Open()
		hosts = append(hosts, h)
	}
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() { h.Ask("tools/list", nil) }) // some answer no call
	}
	wg.Wait()
	if in := rig.Of(r.Status(), "tracks"); len(in) == 1 {
		_ = syscall.Kill(in[0].PID, syscall.SIGSTOP)
	}
	return r, hosts
}

// TestFiftyCyclesLeaveNothing starts and stops good servers and bad ones, those
// that crash, hang and die included, and wants the daemon to hold what it held.
func TestFiftyCyclesLeaveNothing(t *testing.T) {
	cycles := 50
	if testing.Short() {
		cycles = 5
	}
	r := rig.New(t, mcpx, strings.TrimSuffix(config(map[string]string{
		"good":  `"args": []`,
		"wrap":  `"args": ["-wrap", "-child"]`,
		"crash": `"args": ["-crash-start"]`,
		"die":   `"args": ["-die-on-call", "-half-line"]`,
		"hang":  `"args": ["-hang-init"], "mcpx": {"startTimeout": "100ms"}`,
		"mute":  `"args": ["-hang-call"], "mcpx": {"callTimeout": "100ms"}`,
	}), "}")+`, "daemon": {"stopGrace": "50ms"}}`)
	sessions := 0
	cycle := func() {
		var wg sync.WaitGroup
		for _, name := range []string{"good", "wrap", "crash", "die", "hang", "mute"} {
			sessions++
			h := r.Connect(r.Home, name, "--session", fmt.Sprint(sessions)) // one alone may not start so many
			wg.Go(func() {
				h.Open()
				m := h.Ask("tools/call", map[string]any{"name": "echo", "arguments": map[string]string{"text": "x"}})
				if good := name == "good" || name == "wrap"; (m.Error == nil) != good {
					t.Errorf("server %s answered %s", name, m.Line)
				}
				h.Close()
			})
		}
		wg.Wait()
		r.Mcpx("restart")
	}
	for range 3 { // what is opened once
		cycle()
	}
	daemon := r.Status().Daemon.PID
	settled(r)
	before := rig.Descriptors(daemon)
	for range cycles {
		cycle()
	}
	settled(r)
	// The daemon may not have closed the test's own connections yet.
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	after := rig.Descriptors(daemon)
	for began := time.Now(); after > before && time.Since(began) < rig.Wait; after = rig.Descriptors(daemon) {
		<-look.C
	}
	if after > before {
		t.Errorf("the daemon has %d descriptors open, and had %d", after, before)
	}
	if pid := r.Status().Daemon.PID; pid != daemon {
		t.Errorf("the daemon is %d, and was %d", pid, daemon)
	}
	if left := r.Gone(func(p rig.Process) bool { return p.Mark != "" }); len(left) > 0 {
		t.Errorf("there live: %+v", left)
	}
	if z := rig.Zombies(daemon); len(z) > 0 {
		t.Errorf("the daemon has not reaped %v", z)
	}
}

// settled waits until no server runs, nor anything of one.
func settled(r *rig.Rig) {
	r.T.Helper()
	r.Until("nothing runs", func(s api.Status) bool { return s.Daemon.Children == 0 && len(s.Sessions) == 0 })
}
