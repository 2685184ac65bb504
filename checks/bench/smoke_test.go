package bench

import "testing"

// TestBenchmarksWork goes every way that is measured, a few times each.
func TestBenchmarksWork(t *testing.T) {
	r := newRig(t)
	for _, tr := range trips {
		t.Run(tr.String(), func(t *testing.T) {
			tail, ours := tr.call()
			beside := direct(t, tr.server, tr.by)
			h := tr.through(r)
			h.t, h.roots = t, tr.roots
			for h, tail := range map[*host][]byte{beside: tail, h: ours} {
				h.firstList()
				if took := h.roundTrips(nil, tail, 3); quantile(took, .5) <= 0 {
					t.Errorf("round trips took %v", took)
				}
				h.close()
			}
		})
	}
	for _, way := range starts {
		t.Run("first list "+way.name, func(t *testing.T) {
			if took := way.prepare(t)(); took <= 0 {
				t.Errorf("took %v", took)
			}
		})
	}
	t.Run("memory", func(t *testing.T) {
		if m := memoryOf(newRig(t), 2); m.shim <= 0 || m.daemon <= 0 {
			t.Errorf("measured %+v", m)
		}
	})
	t.Run("noise", func(t *testing.T) {
		r := noisyRig(t, "notifications/message")
		calm, noisy := ready(joined(r, "calm", "raw"), call(64)), joined(r, "noisy", "storm")
		noisy.open()
		for _, n := range []noise{{window: 0}, {window: 100, size: 64}} {
			if n.window > 0 {
				noisy = ready(joined(r, "noisy", "raw"), call(64))
			}
			if without, with := n.turn(calm, noisy, nil, nil); len(without) == 0 || len(with) == 0 {
				t.Errorf("measured %d and %d round trips", len(without), len(with))
			}
		}
	})
	t.Run("inside", func(t *testing.T) {
		ready(inside(t), call(64))
	})
}
