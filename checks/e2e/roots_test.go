package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// movable is a host whose answer to roots/list can change.
func movable(r *rig.Rig, dir, server string, args ...string) (h *rig.Host, move func(dir string)) {
	var at atomic.Value
	at.Store(dir)
	h = r.Connect(dir, append([]string{server}, args...)...)
	h.Roots = func() []string { return []string{at.Load().(string)} }
	h.Open()
	return h, func(dir string) { at.Store(dir) }
}

// TestASilentMoveReachesTheOtherCheckout is what a host does that enters a
// worktree in the middle of a connection: it changes its directory and its
// answer to roots/list, and says nothing (design D10, report C6).
func TestASilentMoveReachesTheOtherCheckout(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"tree": scoped("worktree", "")}))
	main, linked := r.Checkouts()
	t.Chdir(main)
	h, move := movable(r, main, "tree")
	first := whoami(t, h)
	t.Chdir(linked)
	move(linked)
	second := whoami(t, h)
	if first.Cwd != main || second.Cwd != linked {
		t.Errorf("the calls were answered in %s and %s, want %s and %s", first.Cwd, second.Cwd, main, linked)
	}
	st := r.Until("no lease is held", func(s api.Status) bool {
		return !slices.ContainsFunc(s.Instances, func(in instance) bool { return in.Leases > 0 })
	})
	for _, in := range rig.Of(st, "tree") {
		if want := map[string]int{main: 0, linked: 1}[in.Root]; in.Sessions != want {
			t.Errorf("%s: %d sessions, want %d", in.Root, in.Sessions, want)
		}
	}
	if s := st.Sessions; len(s) != 1 || s[0].Cwd.Path != linked || s[0].Cwd.Origin != "roots" {
		t.Errorf("status: the session is %+v, want it in %s by its roots", s, linked)
	}
}

func TestACallThatIsUnderWayEndsWhereItBegan(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"tree": scoped("worktree", "")}))
	main, linked := r.Checkouts()
	t.Chdir(main)
	h, move := movable(r, main, "tree")
	slow := start(h, "slow", 300)
	t.Chdir(linked)
	move(linked)
	if got := whoami(t, h); got.Cwd != linked {
		t.Errorf("after the move the call was answered in %s, want %s", got.Cwd, linked)
	}
	if m := h.Await(slow, "the call under way"); rig.Text(m) != "progressed slow" {
		t.Errorf("the call under way was answered %s", m.Line)
	}
}

// start begins a call that takes ms milliseconds, and returns once the server
// has it.
func start(h *rig.Host, name string, ms int) <-chan rig.Message {
	h.T.Helper()
	id := fmt.Sprintf("%q", name)
	answer := h.Expect(id)
	h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"progress","arguments":{"n":1,"ms":%d,"text":%q},"_meta":{"progressToken":%s}}}`, id, ms, name, id))
	for h.Note("the progress of a call").Method != "notifications/progress" {
	}
	return answer
}

func TestAChosenDirectoryIsNeverLeft(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"tree": scoped("worktree", "")}))
	main, linked := r.Checkouts()
	h, _ := movable(r, linked, "tree", "--cwd", filepath.Join(main, "sub"))
	if got := whoami(t, h); got.Cwd != main {
		t.Errorf("answered in %s, want %s, which --cwd named", got.Cwd, main)
	}
}

func TestTheServerOfASessionIsToldItsRoots(t *testing.T) { // design D5
	r := rig.New(t, mcpx, config(map[string]string{"own": scoped("session", "")}))
	main, linked := r.Checkouts()
	t.Chdir(main)
	h, move := movable(r, main, "own")
	first := whoami(t, h)
	t.Chdir(linked)
	move(linked)
	second := whoami(t, h)
	if first.PID != second.PID {
		t.Error("a session's own server was started twice")
	}
	for i, got := range []who{first, second} {
		dir := []string{main, linked}[i]
		if want := fmt.Sprintf(`{"roots":[{"uri":"file://%s","name":%q}]}`, dir, filepath.Base(dir)); string(got.Roots) != want {
			t.Errorf("roots/list in %s: got %s, want %s", dir, got.Roots, want)
		}
	}
}

// TestTheFirstCallFindsTheRootsTold: a server that keeps to its client's roots
// refuses what comes before it knows them, and mcpx starts it for a call.
func TestTheFirstCallFindsTheRootsTold(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{
		"keeps": `"args": ["-roots-replace"], "mcpx": {"scope": "cwd"}`,
		"never": `"args": [], "mcpx": {"scope": "cwd"}`,
	}))
	for i := range 5 {
		dir := filepath.Join(r.Home, fmt.Sprint("dir", i))
		r.Write(filepath.Join(dir, "file"), "")
		h := r.Connect(dir, "keeps")
		h.Open()
		if got := h.Call("dirs", nil); !strings.Contains(got, dir) {
			t.Errorf("the first call in %s finds the roots %s", dir, got)
		}
		other := r.Connect(dir, "never") // one that asks for none is not held up, which only a person would see
		other.Open()
		other.Call("echo", map[string]string{"text": "x"})
	}
}

// TestNoToolOfOursIsOffered: a model is given the servers' tools and nothing by
// which it could move itself or see more (soft roots, 3).
func TestNoToolOfOursIsOffered(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": []`}))
	for _, server := range []string{"", "one"} {
		args, prefix := []string{server}, ""
		if server == "" {
			args, prefix = nil, "one__"
		}
		h := r.Connect(r.Home, args...)
		h.Open()
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(h.Ask("tools/list", nil).Result, &list); err != nil || len(list.Tools) == 0 {
			t.Fatalf("%v: %d tools", err, len(list.Tools))
		}
		for _, tool := range list.Tools {
			if name, ok := strings.CutPrefix(tool.Name, prefix); !ok || strings.Contains(name, "mcpx") || strings.Contains(name, "root") && name != "roots" {
				t.Errorf("connect %s offers %s", server, tool.Name)
			}
		}
	}
}
