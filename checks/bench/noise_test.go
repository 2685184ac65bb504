package bench

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
)

// noise is what one session does, or has done to it, while another one calls
// (threats T34 and T35).
type noise struct {
	name   string
	same   bool   // on the server that the other one calls
	window int    // calls it keeps in flight; 0: it has a server storm
	size   int    // of those
	storm  string // with what
}

var noises = []noise{
	{name: "calls/own-server", window: 64, size: 64},
	{name: "calls/same-server", same: true, window: 64, size: 64},
	{name: "calls/same-server-400", same: true, window: 400, size: 64},
	{name: "storm/progress", storm: "notifications/progress"},
	{name: "storm/logs", storm: "notifications/message"},
	{name: "storm/list_changed", storm: "notifications/tools/list_changed"},
	{name: "storm/stderr", storm: "stderr"},
}

// stormTime is how long a server storms at a time.
const stormTime = 200 * time.Millisecond

// BenchmarkNoise is what one session notices of another: its round trips with
// and without the other's noise, in turns. x-p99 and x-p50 are the ratios. In
// .../direct both have processes of their own, and share the machine alone: what
// remains is the machine's. There is no direct way to share one.
func BenchmarkNoise(b *testing.B) {
	for _, n := range noises {
		if !n.same {
			b.Run(n.name+"/direct", func(b *testing.B) {
				calm := ready(direct(b, "raw", pipes), call(64))
				if n.window > 0 {
					n.measure(b, calm, ready(direct(b, "raw", pipes), call(64)))
					return
				}
				noisy := start(b, pipes, os.Environ(), "/bin/sh", "-c", `exec "$0" "$@" 2>/dev/null`, fakemcp, "-storm", n.storm)
				noisy.open()
				n.measure(b, calm, noisy)
			})
		}
		b.Run(n.name+"/mcpx", func(b *testing.B) {
			r := noisyRig(b, n.storm)
			calm := ready(joined(r, "calm", "raw"), call(64))
			var noisy *host
			switch {
			case n.storm != "":
				noisy = joined(r, "noisy", "storm")
				noisy.open()
			case n.same:
				noisy = ready(joined(r, "noisy", "raw"), call(64))
			default:
				noisy = ready(joined(r, "noisy", "other"), call(64))
			}
			n.measure(b, calm, noisy)
		})
	}
}

// noisyRig is a machine with two servers and one that storms.
func noisyRig(t testing.TB, storm string) *rig.Rig {
	return rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {
		"raw": {"command": %[1]q, "args": ["raw"]},
		"other": {"command": %[1]q, "args": ["raw"]},
		"storm": {"command": %[2]q, "args": ["-storm", %[3]q]}}}`, echo, fakemcp, storm))
}

// joined starts a connect of a session with this id.
func joined(r *rig.Rig, id, server string) *host {
	return start(r.T, pipes, r.Env, r.Bin, "connect", server, "--session", id)
}

func (n noise) measure(b *testing.B, calm, noisy *host) {
	var without, with []time.Duration
	for b.Loop() {
		without, with = n.turn(calm, noisy, without, with)
	}
	b.ReportMetric(0, "ns/op")
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p99", .99}} {
		before, during := quantile(without, q.at), quantile(with, q.at)
		b.ReportMetric(before, q.name+"-µs")
		b.ReportMetric(during, "noisy-"+q.name+"-µs")
		b.ReportMetric(during/before, "x-"+q.name)
	}
}

// turn makes calls without the noise, and then with it.
func (n noise) turn(calm, noisy *host, without, with []time.Duration) (_, _ []time.Duration) {
	tail := call(64)
	without = calm.roundTrips(without, tail, turns)
	over, quiet := n.make(noisy)
	with = calm.roundTrips(with, tail, turns)
	for n.window == 0 && !over() {
		with = calm.roundTrips(with, tail, 1)
	}
	quiet()
	return without, with
}

// make begins the noise. over reports whether it has ended by itself, quiet ends
// it.
func (n noise) make(h *host) (over func() bool, quiet func()) {
	var stop, ended atomic.Bool
	up, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer ended.Store(true)
		if n.window == 0 {
			id := h.storm()
			close(up)
			h.answer(id)
			return
		}
		tail := call(n.size)
		for range n.window {
			h.send(tail)
		}
		close(up)
		for !stop.Load() {
			h.receive()
			h.send(tail)
		}
		for range n.window {
			h.receive()
		}
	}()
	<-up
	return ended.Load, func() {
		stop.Store(true)
		<-done
	}
}

// storm has the server storm, and returns the id of the call that is answered
// when that is over.
func (h *host) storm() int64 {
	h.id++
	h.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"storm","arguments":{"ms":%d},"_meta":{"progressToken":1}}}`+"\n",
		h.id, stormTime.Milliseconds()))
	return h.id
}

// answer reads as far as the answer to a request.
func (h *host) answer(id int64) {
	want := fmt.Appendf(nil, `"id":%d,`, id)
	for {
		if line := h.read(); bytes.Contains(line[:min(len(line), 64)], want) {
			return
		}
	}
}
