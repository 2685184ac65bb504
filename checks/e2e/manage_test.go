package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// managing is a config whose server is mcpx's own.
func managing(r *rig.Rig, daemon string) string {
	return fmt.Sprintf(`{"mcpServers": {
		"own":  {"command": %q, "args": ["management-server", "--runtime-dir", %q], "mcpx": {"scope": "session"}},
		"docs": {"command": %q}}, "daemon": {%s}}`, mcpx, r.Run, fakemcp, daemon)
}

// TestManagementTools: a model sees what its session has; it moves only where the
// user's file says so, and only within the roots that it has (threat T8).
func TestManagementTools(t *testing.T) {
	r := rig.New(t, mcpx, `{}`)
	main, linked := r.Checkouts()
	r.Write(filepath.Join(main, "sub", "deep", "file"), "")
	file := filepath.Join(r.Home, ".config/mcpx/config.json")
	r.Write(file, managing(r, ""))
	h := r.Connect(main, "--session", "a")
	h.Open()
	other := r.Connect(linked, "--session", "b")
	other.Open()
	var got struct {
		Session struct {
			ID      string
			Cwd     struct{ Path string }
			Servers []struct{ Name, State string }
		}
	}
	if err := json.Unmarshal([]byte(h.Call("own__mcpx_status", nil)), &got); err != nil || got.Session.ID != "a" || got.Session.Cwd.Path != main || len(got.Session.Servers) != 2 {
		t.Errorf("%v: %+v", err, got)
	}
	list := func() string { return string(h.Ask("tools/list", nil).Result) }
	if tools := list(); strings.Contains(tools, "mcpx_roots") || !strings.Contains(tools, `"readOnlyHint":true`) {
		t.Errorf("without being asked for it offers %s", tools)
	}
	r.Write(file, managing(r, `"managementTools": ["status", "roots"]`))
	r.Mcpx("reload")
	r.Mcpx("restart", "own")
	h.Call("own__mcpx_status", nil)
	for h.Note("the new tool").Method != "notifications/tools/list_changed" || !strings.Contains(list(), "mcpx_roots") {
	}
	set := func(dirs ...string) (text string, failed bool) {
		m := h.Ask("tools/call", map[string]any{"name": "own__mcpx_roots", "arguments": map[string]any{"op": "set", "dirs": dirs}})
		return rig.Text(m) + string(m.Line), m.Error != nil || strings.Contains(string(m.Result), `"isError":true`)
	}
	if text, failed := set(filepath.Join(main, "sub")); failed {
		t.Errorf("it may go below its root: %s", text)
	}
	if text, failed := set(linked); !failed || !strings.Contains(text, "for a person to say") {
		t.Errorf("it left its root: %s", text)
	}
	if tools := list(); !strings.Contains(tools, `"destructiveHint":true`) {
		t.Errorf("what moves a session is not marked: %s", tools)
	}
	r.Write(file, managing(r, `"managementTools": ["status", "roots"], "approve": "never"`))
	r.Mcpx("reload")
	if text, failed := set(filepath.Join(main, "sub", "deep")); !failed || !strings.Contains(text, "lets nobody change that") {
		t.Errorf("it moved where nobody may: %s", text)
	}
	for _, s := range r.Status().Sessions {
		if want := map[string]string{"a": filepath.Join(main, "sub"), "b": linked}[s.ID]; s.Cwd.Path != want {
			t.Errorf("session %s stands in %s, want %s", s.ID, s.Cwd.Path, want)
		}
	}
}

// TestAServerIsNoPerson: an agent that reaches a shell by a server may not widen
// itself there (threat T8).
func TestAServerIsNoPerson(t *testing.T) {
	r := rig.New(t, mcpx, `{}`)
	said := filepath.Join(r.Home, "said")
	script := fmt.Sprintf(`%s sessions allow docs --session a >%s 2>&1; echo $? >>%s; exec %s`, mcpx, said, said, fakemcp)
	r.Write(filepath.Join(r.Home, ".config/mcpx/config.json"), fmt.Sprintf(`{"mcpServers": {
		"shell": {"command": "sh", "args": ["-c", %q], "env": {"MCPX_RUNTIME_DIR": %q}}, "docs": {"command": %q}}}`, script, r.Run, fakemcp))
	r.Write(filepath.Join(r.Home, ".config/mcpx/rules.json"), `{"default": ["shell"]}`)
	h := r.Connect(r.Home, "--session", "a")
	h.Open()
	h.Call("shell__echo", map[string]string{"text": "x"})
	text, err := os.ReadFile(said)
	if err != nil || !strings.Contains(string(text), "for a person to say") || !strings.HasSuffix(string(text), "1\n") {
		t.Errorf("%v: %s", err, text)
	}
	if s := r.Status().Sessions[0]; slices.Contains(s.Visible, "docs") {
		t.Errorf("the session sees %v", s.Visible)
	}
}
