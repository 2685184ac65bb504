package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// idleSessions is how many are opened to see what one costs: so many that the
// collector has run meanwhile, or what it would find were counted, too.
const idleSessions = 200

// BenchmarkMemory is what mcpx keeps to itself while nothing happens: a sleeping
// shim, a daemon with one session, and each further session in the daemon.
func BenchmarkMemory(b *testing.B) {
	r := newRig(b)
	var m memory
	for b.Loop() {
		m = memoryOf(r, idleSessions)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(m.shim, "shim-KiB")
	b.ReportMetric(m.daemon, "daemon-KiB")
	b.ReportMetric(m.session, "session-KiB")
}

type memory struct{ shim, daemon, session float64 }

// memoryOf opens n idle sessions beside one that has called, in KiB.
func memoryOf(r *rig.Rig, n int) memory {
	t := r.T
	first := through(r, "raw", pipes)
	defer first.close()
	first.firstList()
	first.roundTrips(nil, call(64), 1)
	pid := r.Status().Daemon.PID
	m := memory{daemon: settled(t, pid)}
	shims := make([]float64, n)
	hosts := make([]*host, n)
	for i := range hosts {
		h := through(r, "raw", pipes)
		defer h.close()
		h.firstList()
		h.roundTrips(nil, call(64), 1)
		hosts[i] = h
	}
	m.session = (settled(t, pid) - m.daemon) / float64(n)
	for i, h := range hosts {
		shims[i] = anonymous(t, h.pid())
	}
	slices.Sort(shims)
	m.shim = shims[n/2]
	return m
}

// settled is a process's own memory once it has stopped to change, or after two
// seconds.
func settled(t testing.TB, pid int) float64 {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := anonymous(t, pid)
	for range 40 {
		<-tick.C
		now := anonymous(t, pid)
		if now == last {
			break
		}
		last = now
	}
	return last
}
