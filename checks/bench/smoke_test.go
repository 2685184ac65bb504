package bench

import "testing"

// TestBenchmarksWork goes every way that is measured, a few times each.
func TestBenchmarksWork(t *testing.T) {
	r := newRig(t)
	for _, tr := range trips {
		t.Run(tr.String(), func(t *testing.T) {
			tail := call(tr.size)
			beside := direct(t, tr.server, tr.by)
			h := through(r, tr.server, tr.by)
			h.t, h.roots = t, tr.roots
			for _, h := range []*host{beside, h} {
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
	t.Run("inside", func(t *testing.T) {
		ready(inside(t), call(64))
	})
}
