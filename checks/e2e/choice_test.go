package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// turnedAway runs a command that must fail, and returns what it said.
func turnedAway(t *testing.T, r *rig.Rig, args ...string) string {
	t.Helper()
	out, err := r.Command(args...).CombinedOutput()
	if err == nil {
		t.Errorf("mcpx %s: not refused:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// TestSwitches: a session is narrowed and widened, told, remembered over a
// daemon's death, and forgotten with itself (design D9, D11, threat T8).
func TestSwitches(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`}}`)
	r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash"]}`)
	roof, alone := r.Connect(r.Home), r.Connect(r.Home, "elm")
	hosts := []*rig.Host{roof, alone}
	for _, h := range hosts {
		h.Open()
		h.Ask("tools/list", map[string]any{})
	}
	drain(hosts...)
	calls := func(want bool) {
		t.Helper()
		for h, tool := range map[*rig.Host]string{roof: "elm__whose", alone: "whose"} {
			m := h.Ask("tools/call", map[string]any{"name": tool, "arguments": map[string]any{}})
			if (m.Error == nil) != want {
				t.Errorf("%s: %s, want an answer: %v", tool, m.Line, want)
			}
		}
	}
	calls(false)

	// From inside of it an agent may take away, and nothing else.
	out := turnedAway(t, r, "sessions", "allow", "elm")
	if id := r.Status().Sessions[0].ID; !strings.Contains(out, "it would show elm to the session; asked from inside an agent's session") || !strings.Contains(out, "type: mcpx sessions allow elm --session "+id) {
		t.Errorf("an agent allows itself a server: %s", out)
	}
	turnedAway(t, r, "sessions", "all")
	if got := turnedAway(t, r, "sessions", "allow", "elmm"); !strings.Contains(got, "did you mean elm?") {
		t.Errorf("a slip: %s", got)
	}
	calls(false)
	if got := r.Mcpx("sessions", "deny", "ash"); !strings.Contains(got, "switch  none, by hand") || !strings.Contains(got, "hidden by switch") {
		t.Errorf("an agent narrows itself: %s", got)
	}
	if got := r.Mcpx("explain", "ash"); !strings.Contains(got, "none, which hides it from this session") {
		t.Errorf("explain does not tell of the switch:\n%s", got)
	}
	turnedAway(t, r, "sessions", "reset") // that would give it back

	// A person elsewhere widens, and the answer is what the session sees then.
	var after api.SessionStatus
	if err := json.Unmarshal([]byte(r.Elsewhere("sessions", "all", "--json")), &after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"all*", "all"}, []string{after.Badge, *after.Override}); diff != "" || len(after.Visible) != 2 {
		t.Errorf("the answer: %+v (-want +got):\n%s", after, diff)
	}
	for _, h := range hosts {
		h.Note("list_changed")
	}
	calls(true)
	r.Write(filepath.Join(r.Home, rulesFile), `{"default": []}`)
	other := r.Connect(r.Home, "--session", "other", "elm")
	other.Open()
	r.Until("the rules are read", func(s api.Status) bool { return len(s.Sessions) == 2 && s.Sessions[1].Badge == "none" })
	calls(true) // a save does not undo a switch
	if m := other.Ask("tools/call", map[string]any{"name": "whose", "arguments": map[string]any{}}); m.Error == nil {
		t.Errorf("another session has it too: %s", m.Line)
	}
	if got := r.Mcpx("status"); !strings.Contains(got, "*") || !strings.Contains(got, "switched by hand: mcpx sessions reset --session ") {
		t.Errorf("status shows no switch:\n%s", got)
	}

	r.Kill(syscall.SIGKILL)
	calls(true) // the next daemon knows of it
	for _, s := range r.Status().Sessions {
		if s.ID == after.ID && (s.Override == nil || *s.Override != "all") {
			t.Errorf("after the daemon's death: %+v", s)
		}
	}
	r.Elsewhere("sessions", "reset", "--session", after.ID)
	calls(false)

	other.Close()
	if got := turnedAway(t, r, "sessions", "none", "--session", "other"); !strings.Contains(got, `no open session is called "other"`) || !strings.Contains(got, after.ID) {
		t.Errorf("a session that is gone: %s", got)
	}
	if status, _ := r.Post("control", "DELETE", "/v1/sessions/other/visible", ""); status != 404 {
		t.Errorf("DELETE of a session that is gone: %d", status)
	}
	if status, _ := r.Post("attach", "PUT", "/v1/sessions/x/visible", `{"op":"all"}`); status != 404 {
		t.Errorf("attach.sock takes a switch: %d", status)
	}
	for _, h := range hosts {
		h.Close()
	}
	if got := turnedAway(t, r, "sessions", "all"); !strings.Contains(got, "no session is open") {
		t.Errorf("without sessions: %s", got)
	}
}

// TestSetRoots: a person moves a session; the next call goes to the other
// checkout, and a daemon's death does not move it back (design D10).
func TestSetRoots(t *testing.T) {
	r := rig.New(t, mcpx, strings.TrimSuffix(config(map[string]string{"tree": scoped("worktree", ""), "own": scoped("session", "")}), "}")+
		`, "daemon": {"rootsCeiling": ["~/main", "~/linked"]}}`)
	main, linked := r.Checkouts()
	h, own := r.Connect(main, "tree"), r.Connect(main, "own")
	h.Open()
	own.Open()
	if got := whoami(t, h).Cwd; got != main {
		t.Errorf("at first in %s", got)
	}
	whoami(t, own)
	if got := turnedAway(t, r, "roots", "set", linked); !strings.Contains(got, "asked from inside an agent's session") {
		t.Errorf("an agent moves itself: %s", got)
	}
	if got := r.Elsewhere("roots", "set", linked); !strings.Contains(got, "~/linked") || !strings.Contains(got, "set") {
		t.Errorf("the answer: %s", got)
	}
	if got := whoami(t, h).Cwd; got != linked {
		t.Errorf("the next call went to %s", got)
	}
	r.Elsewhere("roots", "add", main)
	r.Kill(syscall.SIGKILL)
	if got := whoami(t, h).Cwd; got != linked {
		t.Errorf("after the daemon's death it went to %s", got)
	}
	var list []api.RootStatus
	if err := json.Unmarshal([]byte(r.Mcpx("roots", "--json")), &list); err != nil || len(list) != 2 || list[0].Origin != "set" {
		t.Errorf("the roots: %+v, %v", list, err)
	}
	if got := r.Mcpx("roots", "remove", main); strings.Contains(got, "~/main") { // fewer, and the first stays: that moves nothing
		t.Errorf("after the removal: %s", got)
	}
	turnedAway(t, r, "roots", "reset")
	id := r.Status().Sessions[0].ID
	for _, dir := range []string{r.Home, "/"} {
		status, body := r.Post("control", "PUT", "/v1/sessions/"+id+"/roots", `{"op":"set","dirs":["`+dir+`"]}`)
		if status != 409 || !strings.Contains(body, "daemon.rootsCeiling") {
			t.Errorf("%s is outside of the ceiling: %d %s", dir, status, body)
		}
	}
	r.Elsewhere("roots", "reset")
	if got := whoami(t, h).Cwd; got != main {
		t.Errorf("after the reset it went to %s", got)
	}
}

// TestAServerOfTheSessionsOwnIsToldOfSetRoots: by roots/list_changed, and it is
// answered with them.
func TestAServerOfTheSessionsOwnIsToldOfSetRoots(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"own": scoped("session", `"-roots-replace"`)}))
	main, linked := r.Checkouts()
	h := r.Connect(main, "own")
	h.Open()
	if got := h.Call("dirs", nil); !strings.Contains(got, main) {
		t.Errorf("at first its roots are %s", got)
	}
	r.Elsewhere("roots", "set", linked)
	r.Until("the server has asked for its roots again", func(api.Status) bool {
		got := h.Call("dirs", nil)
		return strings.Contains(got, linked) && !strings.Contains(got, main+"\"")
	})
}

// TestStatusline: what stands in a host's line, from inside and outside of a
// session. It starts no daemon.
func TestStatusline(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`, "dead": {"command": "/nowhere/server"}}}`)
	r.Env = append(r.Env, "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	cmd := r.Command("statusline")
	if out, err := cmd.Output(); err == nil || len(out) > 0 {
		t.Errorf("without a daemon: %q, %v", out, err)
	}
	if len(r.Daemons()) > 0 {
		t.Error("it started a daemon")
	}
	h := r.Connect(r.Home)
	h.Open()
	line := func(want string, args ...string) {
		t.Helper()
		r.Until(want, func(api.Status) bool { return r.Mcpx(append([]string{"statusline"}, args...)...) == want+"\n" })
	}
	line("MCP all")
	r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash", "elm"]}`)
	line("MCP ash +1")
	r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash", "typo"]}`)
	line("MCP ash!")
	r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash", "dead"]}`)
	line("MCP ash +1")
	h.Ask("tools/call", map[string]any{"name": "dead__x", "arguments": map[string]any{}})
	line("MCP ash +1•")
	r.Mcpx("sessions", "none")
	line("MCP none*")
	if got := r.Elsewhere("statusline"); got != "MCP none*\n" {
		t.Errorf("elsewhere, with one session: %q", got)
	}
	other := r.Connect(r.Home, "--session", "other", "ash")
	other.Open()
	line("MCP ash +1", "--session", "other") // it connects to no dead one
	if got := r.Elsewhere("statusline"); got != "MCP rules: ash +1\n" {
		t.Errorf("elsewhere, with two sessions: %q", got)
	}
}
