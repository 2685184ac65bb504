package pool

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/google/go-cmp/cmp"
)

func TestLimitsAreNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(8, 3)
		w.stops = 500 * time.Millisecond
		patient := func(r *config.Resolved) { r.StartTimeout = time.Hour }
		pools := []*Pool{w.pool(t, "a", patient), w.pool(t, "b", patient), w.pool(t, "c", patient), w.pool(t, "d", patient)}
		var wg sync.WaitGroup
		for session := range 100 {
			wg.Go(func() {
				for i := range 40 {
					l := lease(t, pools[i%len(pools)], fmt.Sprintf("cwd:/%d", (session+i)%40))
					time.Sleep(100 * time.Millisecond)
					l.Release()
				}
			})
		}
		wg.Wait()
		if w.mostRunning != 8 || w.mostStarting != 3 {
			t.Errorf("at once: got %d running, %d starting; want 8 and 3", w.mostRunning, w.mostStarting)
		}
		for name, most := range w.mostOfPool {
			if most > 4 {
				t.Errorf("pool %s had %d at once, want at most 4", name, most)
			}
		}
	})
}

func TestMaxEvictsTheLeastRecentlyUsedIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 3 })
		use(t, p, "cwd:/a", "cwd:/b", "cwd:/c")
		busy := lease(t, p, "cwd:/a") // older than b, and in use
		defer busy.Release()
		use(t, p, "cwd:/d")
		want := map[string]bool{"cwd:/a": true, "cwd:/c": true, "cwd:/d": true}
		if diff := cmp.Diff(want, w.keys()); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
	})
}

func TestMaxInstancesEvictsInAnyPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2, 4)
		a, b := w.pool(t, "a", nil), w.pool(t, "b", nil)
		use(t, a, "cwd:/1", "cwd:/2")
		time.Sleep(time.Second)
		use(t, a, "cwd:/1")
		use(t, b, "cwd:/3")
		if diff := cmp.Diff(map[string]bool{"cwd:/1": true, "cwd:/3": true}, w.keys()); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
	})
}

func TestPlacesAreMadeForAllWhoWaitAtOnce(t *testing.T) {
	for _, limit := range []string{"max", "daemon.maxInstances"} {
		t.Run(limit, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(4, 4)
				if limit == "max" {
					w = newWorld(64, 4)
				}
				w.stops = 5 * time.Second
				p := w.pool(t, "gopls", nil)
				use(t, p, "cwd:/1", "cwd:/2", "cwd:/3", "cwd:/4")
				other := p
				if limit != "max" {
					other = w.pool(t, "other", nil)
				}
				began := time.Now()
				var wg sync.WaitGroup
				for _, key := range []string{"cwd:/5", "cwd:/6"} {
					wg.Go(func() { use(t, other, key) })
				}
				wg.Wait()
				if took := time.Since(began); took != w.stops+w.starts {
					t.Errorf("two newcomers waited %s, want %s: one stop and one start", took, w.stops+w.starts)
				}
				if keys := w.keys(); !keys["cwd:/3"] || !keys["cwd:/4"] {
					t.Errorf("running: got %v, want only two gone", keys)
				}
			})
		})
	}
}

func TestWaitingForAPlaceIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 1 })
		busy := lease(t, p, "cwd:/0")
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() { use(t, p, fmt.Sprintf("cwd:/%d", i+1)) })
			synctest.Wait()
		}
		busy.Release()
		wg.Wait()
		want := []string{"cwd:/0", "cwd:/1", "cwd:/2", "cwd:/3", "cwd:/4", "cwd:/5"}
		if diff := cmp.Diff(want, w.dials); diff != "" {
			t.Errorf("order of starts (-want +got):\n%s", diff)
		}
	})
}

func TestWaitingForOnePoolDoesNotBlockAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2, 4)
		a := w.pool(t, "a", func(r *config.Resolved) { r.Max = 1 })
		b := w.pool(t, "b", nil)
		busy := lease(t, a, "cwd:/1")
		var wg sync.WaitGroup
		wg.Go(func() { use(t, a, "cwd:/2") })
		synctest.Wait()
		began := time.Now()
		use(t, b, "cwd:/3")
		if took := time.Since(began); took != w.starts {
			t.Errorf("the other pool's start took %s, want %s", took, w.starts)
		}
		busy.Release()
		wg.Wait()
	})
}

func TestWaitingEndsWithAnErrorThatNamesTheLimit(t *testing.T) {
	tests := []struct {
		name      string
		max       int
		instances int
		starts    int
		key       string
		want      LimitError
		message   string
	}{
		{
			"max", 1, 64, 4, "cwd:/b",
			LimitError{Server: "gopls", Key: "max", Max: 1, Waited: time.Minute},
			`server "gopls": max 1: every instance was busy for 1m0s`,
		},
		{
			"daemon.maxInstances", 4, 1, 4, "cwd:/b",
			LimitError{Server: "gopls", Key: "daemon.maxInstances", Max: 1, Waited: time.Minute},
			`server "gopls": daemon.maxInstances 1: every instance was busy for 1m0s`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(tt.instances, tt.starts)
				p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = tt.max })
				busy := lease(t, p, "cwd:/a")
				defer busy.Release()
				_, err := p.Acquire(t.Context(), at(tt.key), scope.CallContext{})
				got, ok := errors.AsType[*LimitError](err)
				if !ok {
					t.Fatalf("Acquire: got %v, want a limit", err)
				}
				if diff := cmp.Diff(tt.want, *got); diff != "" {
					t.Errorf("limit (-want +got):\n%s", diff)
				}
				if err.Error() != tt.message || got.Hint() == "" {
					t.Errorf("got %q with hint %q, want %q with one", err, got.Hint(), tt.message)
				}
			})
		})
	}
}

func TestMaxStartsNamesItselfAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 1)
		w.starts = 10 * time.Minute
		p := w.pool(t, "gopls", nil)
		var wg sync.WaitGroup
		wg.Go(func() { use(t, p, "cwd:/a") })
		synctest.Wait()
		_, err := p.Acquire(t.Context(), at("cwd:/b"), scope.CallContext{})
		if got, ok := errors.AsType[*LimitError](err); !ok || got.Key != "daemon.maxStarts" {
			t.Errorf("Acquire: got %v, want daemon.maxStarts", err)
		}
		wg.Wait()
	})
}

func TestAnOpenSessionsOwnIsNeverEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", func(r *config.Resolved) { r.Max = 2 })
		use(t, p, "session:a", "session:b")
		began := time.Now()
		_, err := p.Acquire(t.Context(), at("session:c"), scope.CallContext{})
		want := `server "browser": max 2: open sessions own every instance`
		if err == nil || err.Error() != want {
			t.Errorf("Acquire: got %v, want %s", err, want)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("Acquire waited %s for what will not come", waited)
		}
		use(t, p, "session:a", "session:b") // still there
		if w.started() != 2 {
			t.Errorf("got %d starts, want 2", w.started())
		}
		p.Orphan("session:a", time.Now().Add(30*time.Second))
		use(t, p, "session:c")
		if diff := cmp.Diff(map[string]bool{"session:b": true, "session:c": true}, w.keys()); diff != "" {
			t.Errorf("after a's session closed (-want +got):\n%s", diff)
		}
	})
}

func TestTwoOfOneKeyNeverRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.stops = 5 * time.Second
		p := w.pool(t, "browser", nil)
		use(t, p, "global")
		go p.Stop(t.Context(), "global")
		synctest.Wait()
		began := time.Now()
		use(t, p, "global")
		if took := time.Since(began); took != w.stops+w.starts || w.mostRunning != 1 {
			t.Errorf("got the next one after %s with %d running at once, want %s and 1", took, w.mostRunning, w.stops+w.starts)
		}
	})
}

func TestSetLimitsStopsIdleOnesAboveMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		use(t, p, "cwd:/a", "cwd:/b", "cwd:/c")
		busy := []*Lease{lease(t, p, "cwd:/a"), lease(t, p, "cwd:/b")}
		p.SetLimits(1, time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(map[string]bool{"cwd:/a": true, "cwd:/b": true}, w.keys()); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		for _, l := range slices.Backward(busy) {
			l.Release()
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]bool{"cwd:/a": true}, w.keys()); diff != "" {
			t.Errorf("when calls have ended (-want +got):\n%s", diff)
		}
	})
}
