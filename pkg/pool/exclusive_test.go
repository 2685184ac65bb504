package pool

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/google/go-cmp/cmp"
)

func exclusive(r *config.Resolved) { r.Sharing = config.Exclusive }

func TestExclusiveServesOneCallAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", exclusive)
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		inside := 0
		for i := range 6 {
			wg.Go(func() {
				l := lease(t, p, "global")
				mu.Lock()
				order = append(order, i)
				if inside++; inside > 1 {
					t.Error("two calls at once")
				}
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				inside--
				mu.Unlock()
				l.Release()
			})
			synctest.Wait() // i stands in line
		}
		wg.Wait()
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5}, order); diff != "" {
			t.Errorf("order of calls (-want +got):\n%s", diff)
		}
	})
}

func TestExclusiveWaitEndsWithAnErrorThatNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", exclusive)
		busy := lease(t, p, "global")
		_, err := p.Acquire(t.Context(), at("global"), scope.CallContext{})
		want := `server "browser": sharing: exclusive, and earlier calls took longer than 1m0s`
		if err == nil || err.Error() != want {
			t.Errorf("Acquire: got %v, want %s", err, want)
		}
		if _, ok := p.Running("global", ""); ok {
			t.Error("Running: got a second lease")
		}
		busy.Release()
		use(t, p, "global")
	})
}

func TestExclusivePinTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", exclusive)
		call := lease(t, p, "global")
		subscription := call.Pin()
		call.Release()
		use(t, p, "global")
		if n := p.ReapIdle(time.Now().Add(time.Hour)); n != 0 {
			t.Errorf("ReapIdle: got %d, want 0 while a subscription lasts", n)
		}
		subscription.Release()
		if n := p.ReapIdle(time.Now().Add(time.Hour)); n != 1 {
			t.Errorf("ReapIdle: got %d, want 1", n)
		}
	})
}

func TestExclusiveDeathHandsTheQueueOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", exclusive)
		victim := lease(t, p, "global")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { use(t, p, "global") })
		}
		time.Sleep(20 * time.Second)
		w.crash(t, "global")
		wg.Wait()
		victim.Release()
		if w.started() != 2 {
			t.Errorf("got %d starts, want 2: one more for all who waited", w.started())
		}
	})
}

func TestExclusiveEarlyDeathTellsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "browser", exclusive)
		use(t, p, "global")
		w.crash(t, "global")
		synctest.Wait() // the second early death is one to wait after
		victim := lease(t, p, "global")
		defer victim.Release()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := p.Acquire(t.Context(), at("global"), scope.CallContext{})
			if _, ok := errors.AsType[*BackoffError](err); !ok || !errors.Is(err, errDied) {
				t.Errorf("who waited: got %v, want the death and when to try again", err)
			}
		})
		synctest.Wait()
		w.crash(t, "global")
		wg.Wait()
	})
}
