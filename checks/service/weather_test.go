package service

import (
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/checks/storm"
)

// TestSessionsOutliveAllThatHappens draws what befalls a machine from a seed:
// each way in which a daemon ends or is replaced, and the ends of servers,
// connects, directories and configs meanwhile. STORM_STEPS and STORM_SEED make it
// longer, or like one that failed.
func TestSessionsOutliveAllThatHappens(t *testing.T) {
	sessions, usual := 20, 20
	if testing.Short() {
		sessions, usual = 10, 8
	}
	seed, count := storm.Seed(t), storm.Count("STORM_STEPS", usual)
	r := rig.New(t, mcpx, storm.Servers(fakemcp, 0))
	w := storm.NewWeather(r, mcpx, fakemcp, seed)
	w.Newer, w.Pause = newer, 5*time.Millisecond
	for range sessions {
		w.Come()
	}
	w.Recovered()
	steps := append(w.Steps(), storm.Step{Name: "a service takes over and restarts", Ends: true, Do: func() { takeOver(t, r, w) }})
	done := map[string]int{}
	for range count {
		step := w.Draw(steps)
		began := time.Now()
		done[step.Name]++
		step.Do()
		if step.Ends {
			w.Recovered()
			w.One()
		}
		t.Logf("%s: %v", step.Name, time.Since(began).Round(time.Millisecond))
	}
	sum := w.End()
	t.Logf("%v: %+v", done, sum)
	if sum.Answered < count*sessions {
		t.Errorf("only %d requests were answered: was there traffic?", sum.Answered)
	}
}

// takeOver installs a service where a daemon runs already, restarts it by way of
// its sockets, and takes it away again.
func takeOver(t *testing.T, r *rig.Rig, w *storm.Weather) {
	var u *unit
	w.Death(func() {
		u = install(t, r)
		u.start()
		u.says("READY=1")
	})
	w.Recovered()
	w.Death(func() {
		if code := u.stop(); code != 0 {
			t.Errorf("the service ended with %d: %s", code, u.errs.String())
		}
		u.wanted("attach")
		u.start()
		u.says("READY=1")
	})
	w.Recovered()
	w.Death(u.uninstall)
}
