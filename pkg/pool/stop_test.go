package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/google/go-cmp/cmp"
)

func TestStopInEveryState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.starts, w.stops = time.Hour, time.Second
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 1 })
		errs := make(chan error, 2)
		for _, key := range []string{"cwd:/starting", "cwd:/queued"} {
			go func() {
				_, err := p.Acquire(t.Context(), at(key), scope.CallContext{})
				errs <- err
			}()
			synctest.Wait()
		}
		if n := p.Stop(t.Context(), ""); n != 1 {
			t.Errorf("Stop: got %d, want the one that had started", n)
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrStopped) {
				t.Errorf("who waited: got %v, want %v", err, ErrStopped)
			}
		}
		if len(w.running) != 0 || w.started() != 1 {
			t.Errorf("got %d running of %d started, want none of 1", len(w.running), w.started())
		}
		w.starts = time.Second
		use(t, p, "cwd:/starting") // at once: that it was stopped is no failure
		call := lease(t, p, "cwd:/leased")
		if n := p.Stop(t.Context(), "cwd:/leased"); n != 1 || len(w.running) != 0 {
			t.Errorf("Stop of a leased one: got %d, %d running, want 1, none", n, len(w.running))
		}
		call.Release()
		if n := p.Stop(t.Context(), "cwd:/leased"); n != 0 {
			t.Errorf("Stop of what is gone: got %d, want 0", n)
		}
	})
}

func TestStopWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.stops = time.Hour
		p := w.pool(t, "gopls", nil)
		use(t, p, "global")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		p.Stop(ctx, "global")
		if took := time.Since(began); took != time.Second {
			t.Errorf("Stop took %s, want 1s", took)
		}
		if got := p.Snapshot(); len(got) != 1 || got[0].State != Stopping {
			t.Errorf("Snapshot: got %+v, want one that is stopping", got)
		}
	})
}

func TestReapIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		use(t, p, "cwd:/idle", "session:mine")
		busy := lease(t, p, "cwd:/busy")
		time.Sleep(4 * time.Minute)
		if n := p.ReapIdle(time.Now()); n != 0 {
			t.Errorf("early: reaped %d, want 0", n)
		}
		time.Sleep(time.Minute)
		if n := p.ReapIdle(time.Now()); n != 1 {
			t.Errorf("after idleTimeout: reaped %d, want 1", n)
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]bool{"cwd:/busy": true, "session:mine": true}, w.keys()); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
		busy.Release()
		use(t, p, "cwd:/idle") // comes back on the next call
	})
}

func TestOrphanEndsUnlessItsSessionReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", nil)
		use(t, p, "session:gone", "session:called", "session:back")
		grace := time.Now().Add(30 * time.Second)
		for _, key := range []string{"session:gone", "session:called", "session:back"} {
			p.Orphan(key, grace)
		}
		use(t, p, "session:called")
		p.Adopt("session:back")
		time.Sleep(29 * time.Second)
		if n := p.ReapIdle(time.Now()); n != 0 {
			t.Errorf("within grace: reaped %d, want 0", n)
		}
		time.Sleep(time.Second)
		if n := p.ReapIdle(time.Now()); n != 1 {
			t.Errorf("after grace: reaped %d, want 1", n)
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]bool{"session:called": true, "session:back": true}, w.keys()); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
		p.Stop(t.Context(), "session:back")
		p.Orphan("session:back", time.Now())
		if len(p.records) != 1 || p.records["session:called"] == nil {
			t.Errorf("remembered: got %v, want only the session that is open", p.records)
		}
	})
}

func TestRetireLetsCallsEndAndRefusesNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", nil)
		short, long := lease(t, p, "cwd:/short"), lease(t, p, "cwd:/long")
		use(t, p, "cwd:/idle")
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { p.Retire(t.Context(), 30*time.Second) })
		synctest.Wait()
		if diff := cmp.Diff(map[string]bool{"cwd:/short": true, "cwd:/long": true}, w.keys()); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		if err := try(t, p, "cwd:/short"); !errors.Is(err, ErrRetired) {
			t.Errorf("a new call: got %v, want %v", err, ErrRetired)
		}
		if _, ok := p.Running("cwd:/short", ""); ok {
			t.Error("Running: got a lease in a retired pool")
		}
		time.Sleep(10 * time.Second)
		short.Release()
		synctest.Wait()
		if diff := cmp.Diff(map[string]bool{"cwd:/long": true}, w.keys()); diff != "" {
			t.Errorf("after a call ended (-want +got):\n%s", diff)
		}
		wg.Wait()
		if took := time.Since(began); took != 30*time.Second || len(w.running) != 0 {
			t.Errorf("Retire took %s and left %d, want 30s and none", took, len(w.running))
		}
		long.Release()
	})
}

func TestRetireDoesNotKeepAStartThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.starts = 10 * time.Second
		p := w.pool(t, "gopls", nil)
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = p.Acquire(hasty, at("global"), scope.CallContext{})
		began := time.Now()
		p.Retire(t.Context(), time.Hour)
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("Retire took %s, want 9s: until the start was over", took)
		}
	})
}

func TestCloseWaitsForAllAndStartsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 1)
		w.starts, w.stops = time.Minute, 5*time.Second
		p := w.pool(t, "gopls", nil)
		use(t, p, "cwd:/connected")
		errs := make(chan error, 2)
		for _, key := range []string{"cwd:/starting", "cwd:/queued"} {
			go func() { errs <- try(t, p, key) }()
			synctest.Wait()
		}
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if len(w.running) != 0 || w.started() != 2 {
			t.Errorf("got %d running of %d started, want none of 2", len(w.running), w.started())
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Errorf("who waited: got %v, want %v", err, ErrClosed)
			}
		}
		if err := try(t, p, "cwd:/late"); !errors.Is(err, ErrClosed) {
			t.Errorf("a late call: got %v, want %v", err, ErrClosed)
		}
	})
}

func TestCloseIsNotPatientForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		w.stops = time.Hour
		p := w.pool(t, "stubborn", nil)
		use(t, p, "global")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: got %v, want deadline exceeded", err)
		}
		if took := time.Since(began); took != time.Second || len(w.running) != 0 {
			t.Errorf("Close took %s and left %d, want 1s and none", took, len(w.running))
		}
	})
}

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 2 })
		busy := lease(t, p, "cwd:/a")
		defer busy.Release()
		w.refuseWith(errNoStart)
		_ = try(t, p, "cwd:/b")
		failed := time.Now()
		w.refuseWith(nil)
		w.starts = time.Hour
		for _, key := range []string{"cwd:/c", "cwd:/d"} {
			go func() { _ = try(t, p, key) }()
			synctest.Wait()
		}
		got := p.Snapshot()
		for i := range got {
			got[i].ID, got[i].Upstream, got[i].StartedAt, got[i].LastUsed = "", nil, time.Time{}, time.Time{}
		}
		want := []Info{
			{Key: "cwd:/a", State: Connected, Leases: 1},
			{Key: "cwd:/b", State: BackingOff, RetryAt: failed.Add(time.Second), LastError: errNoStart.Error()},
			{Key: "cwd:/c", State: Starting, Waiting: 1},
			{Key: "cwd:/d", State: Starting, Waiting: 1, Reason: "max"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Snapshot (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		if got := p.Snapshot()[1].State; got != Failed {
			t.Errorf("after the retry time: got %s, want %s", got, Failed)
		}
		time.Sleep(forgetting)
		p.ReapIdle(time.Now())
		if got := p.Snapshot()[1]; got.Key != "cwd:/c" {
			t.Errorf("ages later: got %+v, want the failure forgotten", got)
		}
	})
}
