package bench

import (
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// BenchmarkFirstList is from the start of the process to the answer of the
// first tools/list: what a person waits for when a host starts.
func BenchmarkFirstList(b *testing.B) {
	for _, way := range starts {
		b.Run(way.name, func(b *testing.B) {
			first := way.prepare(b)
			var took []time.Duration
			for b.Loop() {
				took = append(took, first())
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(quantile(took, .5)/1e3, "p50-ms")
			b.ReportMetric(quantile(took, .99)/1e3, "p99-ms")
		})
	}
}

// starts are the ways to a first list. prepare returns a function that goes one
// of them and says how long it took.
var starts = []struct {
	name    string
	prepare func(testing.TB) func() time.Duration
}{
	{"direct", func(t testing.TB) func() time.Duration {
		return func() time.Duration {
			return list(func() *host { return direct(t, "sdk", pipes) })
		}
	}},
	// Nothing runs, and what the server offers is known from before.
	{"mcpx/no-daemon", func(t testing.TB) func() time.Duration {
		r := newRig(t)
		connect(r).close()
		return func() time.Duration {
			r.Mcpx("stop")
			return list(func() *host { return through(r, "sdk", pipes) })
		}
	}},
	// The daemon runs, the server does not.
	{"mcpx/kept-catalogue", func(t testing.TB) func() time.Duration {
		r := newRig(t)
		connect(r).close()
		r.Mcpx("stop")
		connect(r).close() // starts a daemon, and no server
		if n := len(r.Instances("sdk")); n != 0 {
			t.Fatalf("%d servers run", n)
		}
		return func() time.Duration {
			return list(func() *host { return through(r, "sdk", pipes) })
		}
	}},
	// Another session uses the server.
	{"mcpx/running", func(t testing.TB) func() time.Duration {
		r := newRig(t)
		h := connect(r)
		h.roundTrips(nil, call(64), 1)
		return func() time.Duration {
			return list(func() *host { return through(r, "sdk", pipes) })
		}
	}},
}

func connect(r *rig.Rig) *host {
	h := through(r, "sdk", pipes)
	h.firstList()
	return h
}

func list(start func() *host) time.Duration {
	began := time.Now()
	h := start()
	h.firstList()
	took := time.Since(began)
	h.close()
	return took
}
