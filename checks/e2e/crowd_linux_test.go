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

// census counts the processes of fake servers from outside, by their name, each
// time something has happened.
type census struct {
	t    *testing.T
	mu   sync.Mutex // guards what follows
	most map[string]int
	all  int
}

// take counts once. A process that has ended and not been waited for has no
// command line any more.
func (c *census) take() {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Error(err)
	}
	now, all := map[string]int{}, 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if argv := strings.Split(string(b), "\x00"); err == nil && argv[0] == fakemcp {
			now[argv[2]]++
			all++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = max(c.all, all)
	for name, n := range now {
		c.most[name] = max(c.most[name], n)
	}
}

// A hundred sessions that want a process each never have more than there may be,
// and each is answered or told what it waited for (report A5, threat T35).
func TestACrowdNeverExceedsTheLimits(t *testing.T) {
	sessions, keys := 100, 40
	if testing.Short() {
		sessions = 20
	}
	server := func(name string) string {
		return fmt.Sprintf(`%q: {"command": %q, "args": ["-name", %[1]q], "mcpx": {"scope": "cwd", "max": 4, "startTimeout": "20s"}}`, name, fakemcp)
	}
	r := rig.New(t, mcpx, fmt.Sprintf(`{"daemon": {"maxInstances": 8}, "mcpServers": {%s, %s, %s}}`, server("a"), server("b"), server("c")))
	dirs := make([]string, keys)
	for i := range dirs {
		dirs[i] = filepath.Join(r.Home, fmt.Sprint("d", i))
		r.Write(filepath.Join(dirs[i], "file"), "")
	}
	seen := &census{t: t, most: map[string]int{}}
	served, refused := 0, 0
	var mu sync.Mutex // guards those two
	var wg sync.WaitGroup
	for i := range sessions {
		name := string(rune('a' + i%3))
		h := r.Connect(dirs[i%keys], name, "--session", fmt.Sprint("s", i))
		wg.Go(func() {
			h.Open()
			for range 2 {
				m := h.Ask("tools/call", map[string]any{"name": "sleep", "arguments": map[string]int{"ms": 5}})
				seen.take()
				mu.Lock()
				if m.Error == nil {
					served++
				} else if refused++; !namesALimit(m) {
					t.Errorf("session %d was answered %s, want an answer or a limit", i, m.Line)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d served, %d told the limit; at once %d, of a server %v", served, refused, seen.all, seen.most)
	if seen.all > 8 {
		t.Errorf("%d processes at once, more than maxInstances", seen.all)
	}
	for name, n := range seen.most {
		if n > 4 {
			t.Errorf("%d processes of %s at once, more than max", n, name)
		}
	}
	if served+refused != 2*sessions || served < sessions || seen.all < 4 {
		t.Errorf("%d served and %d refused of %d with %d at once: that is no crowd that was served", served, refused, 2*sessions, seen.all)
	}
}

func namesALimit(m rig.Message) bool {
	var data struct {
		Mcpx struct{ Reason, Hint string }
	}
	if json.Unmarshal(m.Error.Data, &data) != nil || data.Mcpx.Hint == "" {
		return false
	}
	for _, limit := range []string{"max 4", "daemon.maxInstances 8", "daemon.maxStarts 4"} {
		if strings.Contains(data.Mcpx.Reason, limit) {
			return true
		}
	}
	return false
}

// A session that walks through directories and one that starts a process a call
// are served at their pace, and another's process stays (threat T35).
func TestAWalkerLeavesOthersAlone(t *testing.T) {
	dirs, calls := 32, 12 // the starts from the thirtieth on are two seconds apart
	if testing.Short() {
		dirs = 8
	}
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {
		"here": {"command": %[1]q, "args": ["-name", "here"], "mcpx": {"scope": "cwd", "startTimeout": "20s"}},
		"once": {"command": %[1]q, "args": ["-name", "once"], "mcpx": {"scope": "call", "max": 12, "startTimeout": "20s"}}}}`, fakemcp))
	calm := r.Connect(r.Home, "here", "--session", "calm", "--cwd", r.Home)
	calm.Open()
	pid := whoami(t, calm).PID

	var wg sync.WaitGroup
	walker := r.Connect(r.Home, "here", "--session", "walker")
	var mu sync.Mutex // guards at
	at := ""
	walker.Roots = func() []string {
		mu.Lock()
		defer mu.Unlock()
		return []string{at}
	}
	wg.Go(func() {
		for i := range dirs {
			dir := filepath.Join(r.Home, fmt.Sprint("d", i))
			r.Write(filepath.Join(dir, "file"), "")
			mu.Lock()
			at = dir
			mu.Unlock()
			if i == 0 {
				walker.Open()
			} else {
				walker.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			}
			if got := whoami(t, walker).Cwd; got != dir {
				t.Errorf("in %s the walker was served in %s", dir, got)
			}
		}
	})
	caller := r.Connect(r.Home, "once", "--session", "caller")
	seen := &census{t: t, most: map[string]int{}}
	wg.Go(func() {
		caller.Open()
		answers := make([]<-chan rig.Message, calls)
		for i := range answers {
			id := fmt.Sprint(100 + i)
			answers[i] = caller.Expect(id)
			caller.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":200}}}`)
		}
		for _, a := range answers {
			caller.Await(a, "a call with a process of its own")
			seen.take()
		}
	})
	for range 40 {
		seen.take()
		if now := whoami(t, calm).PID; now != pid {
			t.Fatalf("the calm session's process was %d and is %d", pid, now)
		}
	}
	wg.Wait()
	if now := whoami(t, calm).PID; now != pid {
		t.Errorf("the calm session's process was %d and is %d", pid, now)
	}
	if n := seen.most["once"]; n > 4 {
		t.Errorf("%d processes of one session's calls at once, want at most 4", n)
	}
	if n := seen.most["here"]; n > 4 {
		t.Errorf("%d processes of a server at once, more than max", n)
	}
}
