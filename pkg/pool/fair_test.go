package pool

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/google/go-cmp/cmp"
)

// as acquires for a session, holds for a while and releases.
func as(t *testing.T, p *Pool, session, key string, hold time.Duration) {
	t.Helper()
	l, err := p.Acquire(t.Context(), at(key), scope.CallContext{Session: session})
	if err != nil {
		t.Errorf("%s at %s: %v", session, key, err)
		return
	}
	time.Sleep(hold)
	l.Release()
}

// A thousand waiting calls of one session are one ahead of another's first
// (threat T35).
func TestWaitingIsFairBetweenSessions(t *testing.T) {
	patient := func(r *config.Resolved) { r.Max, r.StartTimeout = 1, 24*time.Hour }
	for _, tt := range []struct {
		name string
		edit func(*config.Resolved)
		key  string
		want time.Duration // at most: what runs and one more
	}{
		{"for a place", patient, "cwd:/a%d", 2*time.Second + 2*time.Second},
		{"for an exclusive turn", func(r *config.Resolved) { patient(r); exclusive(r) }, "global", 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(64, 4)
				w.stops = 0
				p := w.pool(t, "gopls", tt.edit)
				var flood sync.WaitGroup
				for i := range 1000 {
					key := tt.key
					if strings.Contains(key, "%") {
						key = fmt.Sprintf(key, i)
					}
					flood.Go(func() { as(t, p, "flood", key, time.Second) })
				}
				synctest.Wait()
				time.Sleep(5 * time.Second)
				for i := range 3 {
					key := "global"
					if tt.key != key {
						key = fmt.Sprintf("cwd:/b%d", i)
					}
					began := time.Now()
					l, err := p.Acquire(t.Context(), at(key), scope.CallContext{Session: "calm"})
					if err != nil {
						t.Fatal(err)
					}
					if waited := time.Since(began); waited > tt.want+w.starts {
						t.Errorf("call %d of the other session waited %s, want at most %s", i, waited, tt.want+w.starts)
					}
					l.Release()
				}
				flood.Wait()
			})
		})
	}
}

func TestOneWhoWaitsForAnothersPlaceBringsItForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 1 })
		busy := lease(t, p, "cwd:/0")
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { as(t, p, "a", fmt.Sprintf("cwd:/%d", i+1), 0) })
			synctest.Wait()
		}
		wg.Go(func() { as(t, p, "b", "cwd:/4", 0) })
		synctest.Wait()
		busy.Release()
		wg.Wait()
		want := []string{"cwd:/0", "cwd:/1", "cwd:/4", "cwd:/2", "cwd:/3"}
		if diff := cmp.Diff(want, w.dials); diff != "" {
			t.Errorf("order of starts (-want +got):\n%s", diff)
		}
	})
}

// Who walks through directories takes away what it left behind, never what
// another session uses, leased or not (threat T35).
func TestAWalkerEvictsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(8, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.StartTimeout = time.Hour })
		as(t, p, "b", "cwd:/b", 0)
		kept := p.current["cwd:/b"].id
		l, err := p.Acquire(t.Context(), at("cwd:/leased"), scope.CallContext{Session: "b"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			as(t, p, "walker", fmt.Sprintf("cwd:/%d", i), 0)
		}
		l.Release()
		began := time.Now()
		again, err := p.Acquire(t.Context(), at("cwd:/b"), scope.CallContext{Session: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if again.Instance() != kept || time.Since(began) != 0 {
			t.Errorf("the other session got instance %s after %s, want its own, %s, at once", again.Instance(), time.Since(began), kept)
		}
		again.Release()
	})
}

// One whose calls fill the pool waits for those rather than for another's
// instance that is in use between calls.
func TestABusySessionWaitsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 2 })
		as(t, p, "b", "cwd:/b", 0)
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { as(t, p, "a", "cwd:/1", time.Minute) })
		synctest.Wait()
		as(t, p, "a", "cwd:/2", 0)
		if took := time.Since(began); took != settled+w.starts {
			t.Errorf("the second of a got its place after %s, want %s: when b's was unused for %s", took, settled+w.starts, settled)
		}
		wg.Wait()
	})
}

func TestSessionStartsAreLentThenPaidFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 64)
		p := w.pool(t, "gopls", func(r *config.Resolved) { r.Max = 64 })
		var wg sync.WaitGroup
		var mu sync.Mutex
		var late []time.Duration
		var errs []error
		began := time.Now()
		for i := range 100 {
			wg.Go(func() {
				l, err := p.Acquire(t.Context(), at(fmt.Sprintf("cwd:/%d", i)), scope.CallContext{Session: "walker"})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					errs = append(errs, err)
					return
				}
				if took := time.Since(began) - w.starts; took > 0 {
					late = append(late, took)
				}
				l.Release()
			})
		}
		synctest.Wait()
		other := time.Now()
		as(t, p, "other", "cwd:/other", 0)
		if took := time.Since(other); took != w.starts {
			t.Errorf("another session's start took %s, want %s", took, w.starts)
		}
		wg.Wait()
		if len(late) < 29 || len(late) > 30 || late[0] != 2*time.Second || len(errs) != 70-len(late) {
			t.Errorf("of 100: got %d late ones from %v on, %d refused; want 29 or 30 from 2s on, the rest refused", len(late), late[:1], len(errs))
		}
		want := `server "gopls": session starts 30: this session starts more processes than that a minute, and waited 1m0s for its turn`
		got, ok := errors.AsType[*LimitError](errs[0])
		if !ok || got.Error() != want || got.Hint() == "" {
			t.Errorf("refused: got %v, want %s", errs[0], want)
		}
	})
}

func TestSessionCallsWithAProcessEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 64)
		p := w.pool(t, "runner", func(r *config.Resolved) { r.Max = 64 })
		var held []*Lease
		for i := range sessionCalls {
			l, err := p.Acquire(t.Context(), at(fmt.Sprintf("call:%d", i)), scope.CallContext{Session: "a"})
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, l)
		}
		as(t, p, "b", "call:b", 0) // another's are another's
		began := time.Now()
		_, err := p.Acquire(t.Context(), at("call:more"), scope.CallContext{Session: "a"})
		want := `server "runner": session calls 4: this session had so many calls with a process each for 1m0s`
		if err == nil || err.Error() != want || time.Since(began) != time.Minute {
			t.Errorf("a fifth: got %v after %s, want %s", err, time.Since(began), want)
		}
		var wg sync.WaitGroup
		wg.Go(func() { as(t, p, "a", "call:next", 0) })
		synctest.Wait()
		held[0].Release()
		wg.Wait()
		for _, l := range held[1:] {
			l.Release()
		}
		if w.mostRunning != sessionCalls+1 {
			t.Errorf("at once: got %d, want %d of one session and one of another's", w.mostRunning, sessionCalls)
		}
	})
}
