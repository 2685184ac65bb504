package service

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// generations is a config as Nix leaves it: a link to a link into a store, whose
// files nobody may write.
type generations struct {
	r     *rig.Rig
	store string
	n     int
}

func newGenerations(r *rig.Rig) *generations {
	g := &generations{r: r, store: filepath.Join(r.Home, "store")}
	config := filepath.Join(r.Home, ".config/mcpx/config.json")
	profile := filepath.Join(r.Home, ".local/state/profile")
	if err := os.MkdirAll(filepath.Dir(profile), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if err := os.Remove(config); err != nil {
		r.T.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(profile, "config.json"), config); err != nil {
		r.T.Fatal(err)
	}
	return g
}

// swap makes a generation the current one.
func (g *generations) swap(config string) {
	g.r.T.Helper()
	g.n++
	dir := filepath.Join(g.store, fmt.Sprintf("%d-mcpx", g.n))
	g.r.Write(filepath.Join(dir, "config.json"), config)
	if err := os.Chmod(filepath.Join(dir, "config.json"), 0o444); err != nil {
		g.r.T.Fatal(err)
	}
	profile := filepath.Join(g.r.Home, ".local/state/profile")
	if err := os.Symlink(dir, profile+".new"); err != nil {
		g.r.T.Fatal(err)
	}
	if err := os.Rename(profile+".new", profile); err != nil {
		g.r.T.Fatal(err)
	}
}

func names(s api.Status) []string {
	var all []string
	for _, sv := range s.Servers {
		all = append(all, sv.Name)
	}
	slices.Sort(all)
	return all
}

// pidOf is the one process of a server that takes calls; others may be leaving.
func pidOf(r *rig.Rig, server string) int {
	r.T.Helper()
	var pids []int
	for _, in := range r.Instances(server) {
		if in.State != "stopping" {
			pids = append(pids, in.PID)
		}
	}
	if len(pids) != 1 {
		r.T.Fatalf("server %s has the processes %v, want one", server, pids)
	}
	return pids[0]
}

func TestGenerationSwitchIsTakenUpAndUnchangedServersStay(t *testing.T) {
	r := rig.New(t, mcpx, servers())
	g := newGenerations(r)
	g.swap(servers("a", "b", "gone"))
	hosts := map[string]*rig.Host{}
	pids := map[string]int{}
	for _, name := range []string{"a", "b", "gone"} {
		hosts[name] = r.Connect(r.Home, name)
		hosts[name].Open()
		hosts[name].Call("echo", map[string]string{"text": "x"})
		pids[name] = pidOf(r, name)
	}
	changed := strings.Replace(servers("a", "b", "c"), `"b":{`, `"b":{"args":["-page-size","2"],`, 1)
	for range 2 { // there, and back, and there again
		g.swap(changed)
		until(t, r, "the next generation", func(s api.Status) bool {
			return slices.Equal(names(s), []string{"a", "b", "c"})
		})
		if got := hosts["b"].Call("echo", map[string]string{"text": "new"}); got != "new" {
			t.Errorf("the changed server answered %q", got)
		}
		if pidOf(r, "b") == pids["b"] {
			t.Error("the changed server is the same process")
		}
		c := r.Connect(r.Home, "c")
		c.Open()
		c.Call("echo", map[string]string{"text": "x"})
		if m := hosts["gone"].Ask("tools/call", map[string]any{"name": "echo"}); m.Error == nil {
			t.Errorf("a server that is gone answered: %s", m.Line)
		}
		g.swap(servers("a", "b", "gone"))
		until(t, r, "the generation before", func(s api.Status) bool {
			return slices.Equal(names(s), []string{"a", "b", "gone"})
		})
		hosts["b"].Call("echo", map[string]string{"text": "x"})
		pids["b"] = pidOf(r, "b")
	}
	if pid := pidOf(r, "a"); pid != pids["a"] {
		t.Errorf("the unchanged server was pid %d and is %d", pids["a"], pid)
	}
	for said, want := range map[string]int{`"added server" server=c`: 2, `"changed server" server=b`: 4, `"removed server" server=gone`: 2} {
		if got := strings.Count(r.Log(), said); got != want {
			t.Errorf("the log has %s %d times, want %d:\n%s", said, got, want, r.Log())
		}
	}
}

func TestBrokenGenerationKeepsTheOldOneInForce(t *testing.T) {
	r := rig.New(t, mcpx, servers())
	g := newGenerations(r)
	g.swap(servers("a"))
	h := r.Connect(r.Home, "a")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	pid := pidOf(r, "a")
	for range 2 {
		g.swap("{broken")
		until(t, r, "the problem", func(s api.Status) bool { return len(s.Problems) > 0 })
		if got := h.Call("echo", map[string]string{"text": "still"}); got != "still" {
			t.Errorf("echo answered %q", got)
		}
		g.swap(servers("a"))
		until(t, r, "the end of the problem", func(s api.Status) bool { return len(s.Problems) == 0 })
	}
	if now := pidOf(r, "a"); now != pid {
		t.Errorf("the server was pid %d and is %d", pid, now)
	}
	if got := strings.Count(r.Log(), "found config problem"); got != 2 {
		t.Errorf("the log names the problem %d times, want once for each of the two:\n%s", got, r.Log())
	}
}

// A project's file that appears where a session stands, or above it, is seen.
func TestFileThatAppearsAboveASessionIsSeen(t *testing.T) {
	r := rig.New(t, mcpx, servers("a"))
	dir := filepath.Join(r.Home, "src/shop/api")
	r.Write(filepath.Join(dir, "file"), "")
	h := r.Connect(dir, "a")
	h.Open()
	h.Call("echo", map[string]string{"text": "x"})
	project := filepath.Join(r.Home, "src/shop/.mcpx.json")
	for range 2 {
		r.Write(project, "{}")
		if err := os.Chmod(project, 0o666); err != nil { // which makes it a problem
			t.Fatal(err)
		}
		until(t, r, "the project's file", func(s api.Status) bool {
			return len(s.Problems) > 0 && strings.HasPrefix(s.Problems[0].Where, project)
		})
		if err := os.Remove(project); err != nil {
			t.Fatal(err)
		}
		until(t, r, "its end", func(s api.Status) bool { return len(s.Problems) == 0 })
	}
}
