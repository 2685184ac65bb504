// Package soak runs the built mcpx for as long as one likes while all that can
// go wrong does, and counts what was lost. checks/soak.sh runs it for minutes.
package soak

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/checks/storm"
)

const (
	sessions = 20
	usual    = 4 * time.Second // in go test ./...
)

// TestSoak spends two thirds of its time in any weather. In the last third
// everything goes on but the daemon's ends, so that its memory can be watched.
func TestSoak(t *testing.T) {
	length := time.Duration(storm.Count("SOAK_SECONDS", int(usual/time.Second))) * time.Second
	dir := t.TempDir()
	bins, err := rig.Build(dir, "github.com/dezren39/mcpx/cmd/mcpx", "github.com/dezren39/mcpx/checks/fakemcp")
	if err != nil {
		t.Fatal(err)
	}
	r := rig.New(t, bins[0], storm.Servers(bins[1], 0))
	w := storm.NewWeather(r, bins[0], bins[1], storm.Seed(t))
	w.Pause = 10 * time.Millisecond
	for range sessions {
		w.Come()
	}
	w.Recovered()
	var s soak
	end := time.Now().Add(length)
	s.blow(w, w.Steps(), end.Add(-length/3))
	w.Recovered()
	calm := w.Steps()[:0]
	for _, step := range w.Steps() {
		if !step.Ends {
			calm = append(calm, step)
		}
	}
	s.watch(w, calm, end)
	s.report(t, w)
}

// soak is what happened beside the calls.
type soak struct {
	faults  map[string]int
	daemons int
	at      []float64 // minutes
	memory  []float64 // of the daemon then, KiB
}

// blow takes steps until the time is over.
func (s *soak) blow(w *storm.Weather, steps []storm.Step, end time.Time) {
	for time.Now().Before(end) && !w.R.T.Failed() {
		s.step(w, steps)
	}
}

func (s *soak) step(w *storm.Weather, steps []storm.Step) {
	step := w.Draw(steps)
	step.Do()
	if step.Ends {
		s.daemons++
		w.Recovered()
		w.One()
	}
	if s.faults == nil {
		s.faults = map[string]int{}
	}
	s.faults[step.Name]++
	<-time.After(100 * time.Millisecond)
}

// watch does the same, and notes the daemon's memory after each.
func (s *soak) watch(w *storm.Weather, steps []storm.Step, end time.Time) {
	daemon, began := w.Daemon(), time.Now()
	for time.Now().Before(end) && !w.R.T.Failed() {
		s.step(w, steps)
		if !daemon.Alive() {
			w.R.T.Errorf("daemon %d ended although nothing ended it", daemon.PID)
			return
		}
		if kib, ok := anonymous(daemon.PID); ok {
			s.at = append(s.at, time.Since(began).Minutes())
			s.memory = append(s.memory, kib)
		}
	}
}

// report ends the hosts and the daemon, and prints the sum.
func (s *soak) report(t *testing.T, w *storm.Weather) {
	descriptors := rig.Descriptors(w.Daemon().PID)
	sum := w.End()
	w.R.Mcpx("stop")
	left := w.R.Gone(func(p rig.Process) bool { return true })
	faults := 0
	for _, n := range s.faults {
		faults += n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sessions      %d\ncalls         %d\n  answered    %d\n  told that their daemon was replaced %d\n  told of another fault %d\n  cancelled   %d\n",
		sum.Sessions, sum.Calls, sum.Answered, sum.Replaced, sum.Failed, sum.Cancelled)
	fmt.Fprintf(&b, "strays        %d (a second answer that a daemon's end excuses)\nhalf lines    %d (ended by the next daemon)\n", sum.Stray, sum.Halves)
	fmt.Fprintf(&b, "faults        %d, %d of them ends of a daemon\n", faults, s.daemons)
	for _, step := range w.Steps() {
		if n := s.faults[step.Name]; n > 0 {
			fmt.Fprintf(&b, "  %-40s %d\n", step.Name, n)
		}
	}
	fmt.Fprintf(&b, "lost          %d\ndoubled       %d\nmisdelivered  %d\norphans left  %d\n", sum.Lost, sum.Doubled, sum.Misdelivered, len(left))
	fmt.Fprintf(&b, "memory        %s\ndescriptors   %d with %d sessions\n", s.slope(), descriptors, sessions)
	fmt.Println(b.String())
	if sum.Lost+sum.Doubled+sum.Misdelivered+len(left) > 0 {
		t.Errorf("something was lost, doubled, misdelivered or left: %+v", left)
	}
}

// slope is the daemon's memory over the last two thirds of what was watched: the
// first is warming up.
func (s *soak) slope() string {
	at, memory := s.at[len(s.at)/3:], s.memory[len(s.memory)/3:]
	if len(at) < 3 {
		return "not watched for long enough"
	}
	var mx, my, xy, xx float64
	for i := range at {
		mx, my = mx+at[i]/float64(len(at)), my+memory[i]/float64(len(at))
	}
	for i := range at {
		xy, xx = xy+(at[i]-mx)*(memory[i]-my), xx+(at[i]-mx)*(at[i]-mx)
	}
	return fmt.Sprintf("%+.0f KiB a minute around %.0f KiB, over %.1f minutes without an end of the daemon", xy/xx, my, at[len(at)-1]-at[0])
}

// anonymous is what a process has of its own, in KiB; ok is false where nobody
// says so, or the process is gone: then it is the one figure that is missing.
func anonymous(pid int) (kib float64, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(data) {
		if f := strings.Fields(string(line)); len(f) > 1 && f[0] == "Anonymous:" {
			kib, err = strconv.ParseFloat(f[1], 64)
			return kib, err == nil
		}
	}
	return 0, false
}
