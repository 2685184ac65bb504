package bench

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// turns is how many calls are made one way before as many are made the other.
const turns = 64

// trip is one kind of round trip.
type trip struct {
	server string
	kind   string
	by     plumbing
	roots  bool // of the host: it is watched, lest it moves without a word (design D10)
	size   int
	roof   bool // through a connection to all servers
}

// call is the call that is measured, and what it is through mcpx.
func (tr trip) call() (direct, ours []byte) {
	direct = call(tr.size)
	if tr.roof {
		return direct, bytes.Replace(direct, []byte(`"name":"`), []byte(`"name":"`+tr.server+"__"), 1)
	}
	return direct, direct
}

// through starts a connect to the server, or to all.
func (tr trip) through(r *rig.Rig) *host {
	if tr.roof {
		return start(r.T, tr.by, r.Env, r.Bin, "connect")
	}
	return through(r, tr.server, tr.by)
}

var trips = []trip{
	{"sdk", "pipe", pipes, false, 64, false},
	{"sdk", "roof", pipes, false, 64, true},
	{"sdk", "pipe", pipes, false, 64 << 10, false},
	{"sdk", "socket", sockets, false, 64, false},
	{"modern", "pipe", pipes, false, 64, false},
	{"raw", "pipe", pipes, false, 64, false},
	{"raw", "roof", pipes, false, 64, true},
	{"raw", "pipe", pipes, false, 64 << 10, false},
	{"raw", "socket", sockets, false, 64, false},
	{"raw", "roots", pipes, true, 64, false},
}

func (tr trip) String() string { return fmt.Sprintf("%s/%s/%dB", tr.server, tr.kind, tr.size) }

// BenchmarkRoundTrip is one caller who waits for each answer.
func BenchmarkRoundTrip(b *testing.B) {
	for _, tr := range trips {
		tail, ours := tr.call()
		b.Run(tr.String()+"/direct", func(b *testing.B) {
			h := ready(direct(b, tr.server, tr.by), tail)
			var took []time.Duration
			for b.Loop() {
				took = append(took, h.roundTrip(tail))
			}
			report(b, took)
		})
		b.Run(tr.String()+"/mcpx", func(b *testing.B) {
			r := newRig(b)
			beside := ready(direct(b, tr.server, tr.by), tail)
			h := tr.through(r)
			h.roots = tr.roots
			ready(h, ours)
			daemon := r.Status().Daemon.PID
			var took, theirs []time.Duration
			used, slept := cpu(b, daemon), cpu(b, h.pid())
			for b.Loop() {
				took = append(took, h.roundTrip(ours))
				if len(took)%turns == 0 {
					theirs = beside.roundTrips(theirs, tail, turns)
				}
			}
			b.ReportMetric(perCall(cpu(b, daemon)-used, len(took)), "cpu-µs/call")
			b.ReportMetric(perCall(cpu(b, h.pid())-slept, len(took)), "shim-µs/call")
			theirs = beside.roundTrips(theirs, tail, 1)
			b.ReportMetric(quantile(took, .5)/quantile(theirs, .5), "x-direct")
			report(b, took)
		})
	}
}

func report(b *testing.B, took []time.Duration) {
	b.ReportMetric(0, "ns/op") // of which p50 and p99 say more
	b.ReportMetric(quantile(took, .5), "p50-µs")
	b.ReportMetric(quantile(took, .99), "p99-µs")
}

// ready opens a connection and makes the calls that find everything cold.
func ready(h *host, tail []byte) *host {
	h.t.Helper()
	h.firstList()
	h.roundTrips(nil, tail, turns)
	return h
}

func (h *host) roundTrip(tail []byte) time.Duration {
	began := time.Now()
	h.send(tail)
	h.receive()
	return time.Since(began)
}

func (h *host) roundTrips(took []time.Duration, tail []byte, n int) []time.Duration {
	for range n {
		took = append(took, h.roundTrip(tail))
	}
	return took
}

// BenchmarkInFlight is one session with many calls in flight.
func BenchmarkInFlight(b *testing.B) {
	for _, server := range []string{"sdk", "raw"} {
		for _, window := range []int{8, 64} {
			tail := call(64)
			name := fmt.Sprintf("%s/%d", server, window)
			b.Run(name+"/direct", func(b *testing.B) {
				h := ready(direct(b, server, pipes), tail)
				h.inFlight(b, tail, window)
			})
			b.Run(name+"/mcpx", func(b *testing.B) {
				r := newRig(b)
				h := ready(through(r, server, pipes), tail)
				daemon := r.Status().Daemon.PID
				used := cpu(b, daemon)
				h.inFlight(b, tail, window)
				b.ReportMetric(perCall(cpu(b, daemon)-used, b.N), "cpu-µs/call")
			})
		}
	}
}

// inFlight sends a call for each answer, and keeps window calls in flight.
func (h *host) inFlight(b *testing.B, tail []byte, window int) {
	for range window {
		h.send(tail)
	}
	for b.Loop() {
		h.receive()
		h.send(tail)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	for range window {
		h.receive()
	}
}
