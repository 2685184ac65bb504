package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// TestBackOffIsSharedByAllSessionsOfAKey lets many sessions call a server that
// cannot start in one directory, and can in another (report F3).
func TestBackOffIsSharedByAllSessionsOfAKey(t *testing.T) {
	const each = 3 // a try asks with a probe, without, and without the workspace
	tries := 3     // 0, 1 and 3 s after the first
	if testing.Short() {
		tries = 2
	}
	r := rig.New(t, mcpx, config(map[string]string{
		"keyed": `"args": ["-exit", "1", "-faulty", "1000", "-state", "${mcpx.root}/state", "-log", "${mcpx.root}/log"], "mcpx": {"scope": "cwd"}`,
		"good":  `"args": []`,
	}))
	bad, fine := filepath.Join(r.Home, "bad"), filepath.Join(r.Home, "fine")
	r.Write(filepath.Join(bad, "state"), "0")
	r.Write(filepath.Join(fine, "state"), "1000")
	began := time.Now()
	var calls atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 10 {
		h := open(r, bad, "keyed", "--session", fmt.Sprint("s", i))
		wg.Go(func() {
			for {
				m := h.Ask("tools/call", map[string]any{"name": "echo"})
				calls.Add(1)
				if m.Error == nil || !strings.Contains(m.Error.Message, `server "keyed": ended before it answered initialize: exit status 1`) {
					t.Errorf("session %d was answered %s", i, m.Line)
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	log := filepath.Join(bad, "log")
	keyed, good := open(r, fine, "keyed"), open(r, r.Home, "good")
	first := whoami(t, keyed)
	for starts(t, log) < each*tries {
		for _, h := range []*rig.Host{keyed, good} {
			if got := h.Call("echo", map[string]string{"text": "x"}); got != "x" {
				t.Fatalf("beside a key that backs off echo answered %q", got)
			}
		}
		if time.Since(began) > rig.Wait {
			t.Fatalf("%d starts in %v", starts(t, log), rig.Wait)
		}
	}
	close(stop)
	wg.Wait()

	allowed := 1
	for at, pause := time.Duration(0), time.Second; at+pause < time.Since(began); at, pause = at+pause, 2*pause {
		allowed++
	}
	if got := starts(t, log); got > each*allowed {
		t.Errorf("%d starts in %v for %d calls, want %d tries at most", got, time.Since(began), calls.Load(), allowed)
	}
	if got := whoami(t, keyed); got.PID != first.PID {
		t.Error("the other key's process was replaced")
	}
	var waits instance
	r.Until("the key backs off", func(s api.Status) bool {
		for _, in := range rig.Of(s, "keyed") {
			if in.Root == bad && in.State == "backing-off" {
				waits = in
				return true
			}
		}
		return false
	})
	if !waits.RetryAt.After(time.Now()) || waits.RetryAt.After(time.Now().Add(5*time.Second)) || !strings.Contains(waits.LastError, "exit status 1") {
		t.Errorf("status shows %+v, want the time of the next try and why", waits)
	}
	if out := r.Mcpx("status"); !strings.Contains(out, "backing off") || !strings.Contains(out, "exit status 1") {
		t.Errorf("mcpx status does not show it:\n%s", out)
	}

	before := starts(t, log)
	r.Mcpx("restart", "keyed")
	h := open(r, bad, "keyed", "--session", "later")
	if e := refused(t, h, "echo"); !strings.Contains(e.Message, "exit status 1") {
		t.Errorf("the call after the restart was refused with %q", e.Message)
	}
	if got := starts(t, log); got != before+each {
		t.Errorf("a restart and a call made %d starts, want one try", got-before)
	}
	if err := os.WriteFile(filepath.Join(bad, "state"), []byte("1000"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Mcpx("restart", "keyed")
	h.Call("echo", nil)
	for _, in := range r.Instances("keyed") {
		if in.Root == bad && (in.State == "backing-off" || !in.RetryAt.IsZero()) {
			b, _ := json.Marshal(in)
			t.Errorf("mended, status still shows %s", b)
		}
	}
}
