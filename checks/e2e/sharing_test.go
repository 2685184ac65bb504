package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// config is a user config of fake servers: name → flags and mcpx block.
func config(servers map[string]string) string {
	var b strings.Builder
	b.WriteString(`{"mcpServers": {`)
	first := true
	for name, rest := range servers {
		if !first {
			b.WriteString(",")
		}
		first = false
		fmt.Fprintf(&b, "%q: {\"command\": %q, %s}", name, fakemcp, rest)
	}
	b.WriteString("}}")
	return b.String()
}

func TestTenSessionsTimesTenServersAreTenChildren(t *testing.T) {
	n := 10
	if testing.Short() {
		n = 3
	}
	servers := map[string]string{}
	for i := range n {
		servers[fmt.Sprintf("s%d", i)] = `"args": []`
	}
	r := rig.New(t, mcpx, config(servers))
	var wg sync.WaitGroup
	for i := range n {
		for s := range servers {
			h := r.Connect(r.Home, s, "--session", fmt.Sprintf("session-%d", i))
			wg.Go(func() {
				h.Open()
				if got := h.Call("echo", map[string]string{"text": "hello"}); got != "hello" {
					t.Errorf("%s: echo answered %q", s, got)
				}
			})
		}
	}
	wg.Wait()
	st := r.Status()
	if st.Daemon.Children != n || len(st.Instances) != n {
		t.Errorf("%d children, %d instances; want %d for %d servers and %d connections", st.Daemon.Children, len(st.Instances), n, n, n*n)
	}
	if len(st.Sessions) != n {
		t.Errorf("%d sessions, want %d", len(st.Sessions), n)
	}
	for _, in := range st.Instances {
		if in.Sessions != n || in.Calls < int64(n) {
			t.Errorf("%s: %d sessions and %d calls, want %d of each at least", in.Server, in.Sessions, in.Calls, n)
		}
	}
}

func TestTwentyFirstCallersAreOneSpawn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	r := rig.New(t, mcpx, config(map[string]string{"slow": fmt.Sprintf(`"args": ["-init-delay", "300ms", "-log", %q]`, log)}))
	var wg sync.WaitGroup
	for range 20 {
		h := r.Connect(r.Home, "slow")
		wg.Go(func() {
			h.Open()
			h.Call("count", nil)
		})
	}
	wg.Wait()
	if got := starts(t, log); got != 1 {
		t.Errorf("%d starts, want 1", got)
	}
	if got := len(r.Instances("slow")); got != 1 {
		t.Errorf("%d instances, want 1", got)
	}
}

// starts counts the starts a fakemcp logged.
func starts(t *testing.T, log string) int {
	t.Helper()
	b, err := os.ReadFile(log)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		var e struct{ Kind string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Kind == "start" {
			n++
		}
	}
	return n
}

func TestTwentyShimsAreOneDaemon(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": []`}))
	var wg sync.WaitGroup
	for range 20 {
		h := r.Connect(r.Home, "one")
		wg.Go(func() {
			h.Open()
			h.Call("echo", map[string]string{"text": "x"})
		})
	}
	wg.Wait()
	if got := strings.Count(r.Log(), "started daemon"); got != 1 {
		t.Errorf("%d daemons were started, want 1", got)
	}
	if got := len(r.Status().Sessions); got != 1 {
		t.Errorf("%d sessions, want 1: all connections are of one host", got)
	}
}

func TestListingWhatIsKeptStartsNothing(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	r := rig.New(t, mcpx, config(map[string]string{"one": fmt.Sprintf(`"args": ["-log", %q]`, log)}))
	h := r.Connect(r.Home, "one")
	h.Open()
	first := h.Ask("tools/list", map[string]any{})
	r.Listed("one")
	r.Mcpx("restart", "one")
	before := starts(t, log)

	for range 5 {
		h := r.Connect(r.Home, "one")
		h.Open()
		kept := h.Ask("tools/list", map[string]any{})
		if string(kept.Result) != string(first.Result) {
			t.Errorf("the kept list differs from the server's:\n%s\n%s", kept.Result, first.Result)
		}
	}
	if got := starts(t, log); got != before {
		t.Errorf("listing started %d processes", got-before)
	}
	h.Call("echo", map[string]string{"text": "x"})
	if got := starts(t, log); got != before+1 {
		t.Errorf("the first call started %d processes, want 1", got-before)
	}
}
