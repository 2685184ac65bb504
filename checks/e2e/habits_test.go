package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// TestOddServersAreServed calls servers with the habits and faults that a host
// must not notice (reports C13, E4, F9, H3-H5; protocol §1.6).
func TestOddServersAreServed(t *testing.T) {
	flags := []string{
		"-garbage", "-banner", "-blank", "-split", "-batch", "-early", "-double", "-string-id", "-reuse-ids",
		"-progress-late", "-list-storm 100", "-page-size 2", "-bad-schema", "-stderr-flood 2", "-stderr-each 128",
		"-modern-only", "-discover modern", "-discover zero", "-discover exit", "-protocol 2024-11-05",
		"-strict-initialize", "-strict-capabilities", "-wrap", "-child", "-slow-read",
	}
	servers := map[string]string{}
	name := func(f string) string { return strings.ReplaceAll(strings.TrimPrefix(f, "-"), " ", "_") }
	for _, f := range flags {
		servers[name(f)] = scoped("cwd", `"`+strings.ReplaceAll(f, " ", `", "`)+`"`)
	}
	r := rig.New(t, mcpx, config(servers))
	dir := filepath.Join(r.Home, "dir")
	r.Write(filepath.Join(dir, "file"), "")
	for _, f := range flags {
		t.Run(f, func(t *testing.T) {
			h := open(r, dir, name(f))
			h.T = t
			if m := h.Ask("tools/list", map[string]any{}); !strings.Contains(string(m.Result), `"echo"`) && !strings.Contains(string(m.Result), "nextCursor") {
				t.Errorf("tools/list: %s", m.Line)
			}
			for i := range 2 {
				text := fmt.Sprintf("héllo 😀 %d", i)
				if got := h.Call("echo", map[string]string{"text": text}); got != text {
					t.Errorf("echo: got %q, want %q", got, text)
				}
			}
			if got := whoami(t, h); got.Cwd != dir {
				t.Errorf("cwd: got %s, want %s", got.Cwd, dir)
			}
			h.Close()
			for len(h.Notes) > 0 {
				if m := <-h.Notes; !strings.HasSuffix(m.Method, "/list_changed") {
					t.Errorf("the host got %s", m.Line)
				}
			}
		})
	}
}

func TestAServerThatRefusesTheWorkspaceIsRemembered(t *testing.T) { // design D5, report C13
	log := filepath.Join(t.TempDir(), "log")
	r := rig.New(t, mcpx, config(map[string]string{"strict": scoped("worktree", fmt.Sprintf(`"-strict-initialize", "-log", %q`, log))}))
	main, _ := r.Checkouts()
	got := whoami(t, open(r, main, "strict"))
	if got.Cwd != main || strings.Contains(string(got.Initialize), "rootUri") {
		t.Errorf("it runs in %s and was told %s", got.Cwd, got.Initialize)
	}
	before := starts(t, log)
	r.Mcpx("restart", "strict")
	open(r, main, "strict").Call("echo", nil)
	if got := starts(t, log); got != before+1 {
		t.Errorf("the restart took %d starts, want 1: what it refuses is remembered", got-before)
	}
}

func TestAReloadEndsTheOldAndStartsTheNew(t *testing.T) { // design D17
	r := rig.New(t, mcpx, config(map[string]string{"srv": `"args": ["-name", "old"]`, "other": `"args": []`}))
	h, other := open(r, r.Home, "srv"), open(r, r.Home, "other")
	old, unchanged := whoami(t, h), whoami(t, other)
	h.Ask("tools/list", map[string]any{})
	call := start(h, "slow", 300)
	r.Write(filepath.Join(r.Home, ".config/mcpx/config.json"), config(map[string]string{"srv": `"args": ["-name", "new"]`, "other": `"args": [], "mcpx": {"max": 2, "callTimeout": "9s"}`}))
	r.Mcpx("reload")
	if m := h.Note("the reload's"); m.Method != "notifications/tools/list_changed" {
		t.Errorf("after the reload the host got %s", m.Line)
	}
	if got := whoami(t, h); got.PID == old.PID || !slices.Contains(got.Argv, "new") {
		t.Errorf("the next call was answered by %q", got.Argv)
	}
	if m := h.Await(call, "the call under way"); rig.Text(m) != "progressed slow" {
		t.Errorf("the call under way was answered %s", m.Line)
	}
	r.Until("the old process is gone", func(s api.Status) bool { return len(rig.Of(s, "srv")) == 1 })
	if got := whoami(t, other); got.PID != unchanged.PID {
		t.Error("a server whose limits changed was started again")
	}
}
