package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

func TestAcquireStartsOnceForAllFirstCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		var wg sync.WaitGroup
		names := make([]string, 20)
		for i := range names {
			wg.Go(func() {
				l := lease(t, p, "cwd:/src")
				names[i] = l.Instance()
				l.Release()
			})
		}
		wg.Wait()
		if w.started() != 1 {
			t.Errorf("20 first callers: got %d starts, want 1", w.started())
		}
		for _, name := range names {
			if name != names[0] || name == "" {
				t.Errorf("instances: got %q, want one name", names)
				break
			}
		}
	})
}

func TestAcquireImpatientCallerLeavesStartAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.starts = 10 * time.Second
		p := w.pool(t, "gopls", nil)
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Acquire(hasty, at("cwd:/src"), scope.CallContext{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hasty Acquire: got %v, want deadline exceeded", err)
		}
		use(t, p, "cwd:/src")
		if w.started() != 1 {
			t.Errorf("got %d starts, want 1", w.started())
		}
	})
}

func TestAcquireGivesBackWhatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		_, wait, err := p.join(at("global"), scope.CallContext{})
		if err != nil {
			t.Fatal(err)
		}
		<-wait.ready
		p.abandon(wait) // its context ended in the same moment
		if got := p.Snapshot()[0].Leases; got != 0 {
			t.Errorf("leases: got %d, want 0", got)
		}
		wait.lease.Release()
		if got := p.Snapshot()[0].Leases; got != 0 {
			t.Errorf("leases after another Release: got %d, want 0", got)
		}
	})
}

func TestAcquireOutlastsItsOwnDeadlineWhileTheStartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.starts = 3 * time.Minute
		p := w.pool(t, "slow", func(r *config.Resolved) { r.StartTimeout = time.Minute })
		use(t, p, "cwd:/src") // a start is bounded by Dial, not by the wait for a place
	})
}

func TestAcquireWhoGivesUpInTheQueueStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 1 })
		busy := lease(t, p, "cwd:/a")
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Acquire(hasty, at("cwd:/b"), scope.CallContext{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hasty Acquire: got %v, want deadline exceeded", err)
		}
		busy.Release()
		synctest.Wait()
		if w.started() != 1 || !w.keys()["cwd:/a"] {
			t.Errorf("after the one who waited left: got %d starts, %v running, want only cwd:/a", w.started(), w.keys())
		}
	})
}

func TestAcquireRestartsAsTheFirstCallerAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		for _, dir := range []string{"/src/app/creator", "/src/app/other"} {
			l, err := p.Acquire(t.Context(), at("repo:/src/app/.git"), scope.CallContext{Cwd: dir})
			if err != nil {
				t.Fatal(err)
			}
			l.Release()
			if n := p.Stop(t.Context(), "repo:/src/app/.git"); n != 1 {
				t.Errorf("Stop: got %d, want 1", n)
			}
		}
		if len(w.origins) != 2 || w.origins[1].Cwd != "/src/app/creator" {
			t.Errorf("starts were asked for from %v, want the creator's directory twice", w.origins)
		}
	})
}

func TestAcquireAfterADeathStartsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		calls := []*Lease{lease(t, p, "global"), lease(t, p, "global")}
		time.Sleep(time.Minute)
		w.crash(t, "global")
		// Nothing has been told of the death yet: the lock says so.
		if _, ok := p.Running("global", ""); ok {
			t.Error("Running: got a lease on a dead instance")
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if l := lease(t, p, "global"); l.Instance() == calls[0].Instance() {
					t.Error("Acquire: got the dead instance")
				}
			})
		}
		wg.Wait()
		if w.started() != 2 {
			t.Errorf("10 calls after a death: got %d starts in all, want 2", w.started())
		}
		for _, l := range calls {
			l.Release() // of what is gone: harmless
			l.Release()
		}
	})
}

func TestRunningNeitherStartsNorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		if _, ok := p.Running("global", ""); ok || w.started() != 0 {
			t.Errorf("cold: got %v after %d starts, want false after none", ok, w.started())
		}
		use(t, p, "global")
		l, ok := p.Running("global", "")
		if !ok {
			t.Fatal("warm: got false")
		}
		l.Release()
		allocs := testing.AllocsPerRun(100, func() {
			l, _ := p.Running("global", "")
			l.Release()
		})
		if allocs > 1 {
			t.Errorf("Running and Release allocate %v times, want at most 1", allocs)
		}
	})
}

func TestAcquireCallScopeIsOneProcessACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 2)
		w.stops = time.Second
		p := w.pool(t, "runner", func(r *config.Resolved) { r.Scope = scope.Call; r.Max = 3; r.StartTimeout = time.Hour })
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				l := lease(t, p, fmt.Sprintf("call:%d", i))
				time.Sleep(time.Second)
				l.Release()
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if w.started() != 1000 || len(w.running) != 0 {
			t.Errorf("1000 calls: got %d processes, %d left; want 1000, none left", w.started(), len(w.running))
		}
		if w.mostRunning > 3 || w.mostStarting > 2 {
			t.Errorf("at once: got %d running, %d starting; want at most 3 and 2", w.mostRunning, w.mostStarting)
		}
	})
}

func TestAcquireCallScopeStartEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.starts = time.Hour
		p := w.pool(t, "runner", nil)
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Acquire(hasty, at("call:1"), scope.CallContext{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire: got %v, want deadline exceeded", err)
		}
		synctest.Wait()
		if len(w.running) != 0 {
			t.Error("the process of a call outlives its caller")
		}
	})
}
