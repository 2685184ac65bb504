package pool

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dezren39/mcpx/pkg/scope"
)

var errNoStart = errors.New(`server "broken": did not start: exit status 1; its last words: "no such index"`)

// try acquires and says when it was told what.
func try(t *testing.T, p *Pool, key string) error {
	t.Helper()
	l, err := p.Acquire(t.Context(), at(key), scope.CallContext{})
	if err == nil {
		l.Release()
	}
	return err
}

func TestBackoffAnswersAtOnceWithTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "broken", nil)
		w.refuseWith(errNoStart)
		if err := try(t, p, "global"); !errors.Is(err, errNoStart) {
			t.Fatalf("first: got %v, want the failure", err)
		}
		time.Sleep(250 * time.Millisecond)
		began := time.Now()
		err := try(t, p, "global")
		want := errNoStart.Error() + "; retry in 800ms"
		if err == nil || err.Error() != want || time.Since(began) != 0 {
			t.Errorf("within back-off: got %v after %s, want %s at once", err, time.Since(began), want)
		}
		if err := try(t, p, "cwd:/other"); errors.As(err, new(*BackoffError)) {
			t.Errorf("another key: got %v, want a try of its own", err)
		}
	})
}

func TestBackoffBoundsTheStartsOfABrokenServer(t *testing.T) {
	for _, scheme := range []string{"global", "call:%d"} {
		t.Run(scheme, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(64, 4)
				w.starts = time.Millisecond
				p := w.pool(t, "broken", nil)
				w.refuseWith(errNoStart)
				for i := range 10_000 { // 100 s
					key := scheme
					if key != "global" {
						key = fmt.Sprintf(scheme, i)
					}
					_ = try(t, p, key)
					time.Sleep(10 * time.Millisecond)
				}
				if n := w.started(); n < 6 || n > 8 { // at 0, 1, 3, 7, 15, 31, 63 s
					t.Errorf("got %d starts in 100 s, want 7", n)
				}
			})
		})
	}
}

func TestBackoffIsClearedByStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "broken", nil)
		w.refuseWith(errNoStart)
		_ = try(t, p, "global")
		w.refuseWith(nil)
		p.Stop(t.Context(), "global")
		if err := try(t, p, "global"); err != nil {
			t.Errorf("after a restart: got %v", err)
		}
	})
}

func TestBackoffCountsAnEarlyDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(64, 4)
		p := w.pool(t, "flaky", nil)
		use(t, p, "global")
		w.crash(t, "global")
		synctest.Wait() // the first is no reason to wait
		for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			use(t, p, "global")
			time.Sleep(time.Second)
			w.crash(t, "global")
			synctest.Wait()
			err := try(t, p, "global")
			if b, ok := errors.AsType[*BackoffError](err); !ok || b.Retry != pause {
				t.Fatalf("after an early death: got %v, want retry in %s", err, pause)
			}
			time.Sleep(pause)
		}
		use(t, p, "global")
		time.Sleep(proofLife)
		w.crash(t, "global")
		synctest.Wait()
		use(t, p, "global") // one that lived is started again at once
		w.crash(t, "global")
		synctest.Wait()
		use(t, p, "global")
		w.crash(t, "global")
		synctest.Wait()
		if b, ok := errors.AsType[*BackoffError](try(t, p, "global")); !ok || b.Retry != time.Second {
			t.Errorf("after a success: got %v, want the ladder from its first step", b)
		}
	})
}
