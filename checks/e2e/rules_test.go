package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

const rulesFile = ".config/mcpx/rules.json"

// modernMeta is what a host of the modern era says with each request.
var modernMeta = map[string]any{
	"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
	"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "rig", "version": "1"},
}

// reachAll are requests of every kind for what the server called elm has, as a
// host would send them to it alone or, with prefix, under one roof.
func reachAll(prefix string) map[string][]map[string]any {
	page := "res://elm/page"
	return map[string][]map[string]any{
		"tools/call":            {{"name": prefix + "whose", "arguments": map[string]any{}}},
		"prompts/get":           {{"name": prefix + "greet"}},
		"resources/read":        {{"uri": page}},
		"resources/subscribe":   {{"uri": page}},
		"resources/unsubscribe": {{"uri": page}},
		"completion/complete": {
			{"ref": map[string]string{"type": "ref/prompt", "name": prefix + "greet"}, "argument": map[string]string{"name": "id", "value": "x"}},
			{"ref": map[string]string{"type": "ref/resource", "uri": "res://elm/{id}"}, "argument": map[string]string{"name": "id", "value": "x"}},
		},
		"tasks/get": {{"taskId": "elm:1"}}, "tasks/result": {{"taskId": "elm:1"}}, "tasks/cancel": {{"taskId": "elm:1"}},
	}
}

var hiddenLists = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}

// TestAHiddenServerIsAbsentRefusedAndNotStarted holds design D9 and threat T13: by
// every method, in both eras, alone and under one roof, when the host never heard
// of it and when it has a list from before.
func TestAHiddenServerIsAbsentRefusedAndNotStarted(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`,`+rich(t, "oak", "")+`}}`)
	hide := func() { r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash", "oak"]}`) }
	hide()
	absent := func(what, to string, modern bool) {
		t.Helper()
		var args []string
		prefix := "elm__"
		if to != "" {
			args, prefix = []string{to}, ""
		}
		h := r.Connect(r.Home, args...)
		defer h.Close()
		if !modern {
			h.Open()
		}
		ask := func(method string, params map[string]any) rig.Message {
			if modern {
				params = merged(params, map[string]any{"_meta": modernMeta})
			}
			return h.Ask(method, params)
		}
		for _, method := range hiddenLists {
			if m := ask(method, map[string]any{}); m.Error != nil || strings.Contains(string(m.Result), `elm__`) || to != "" && strings.Contains(string(m.Result), `"name":`) {
				t.Errorf("%s: %s: %s", what, method, m.Line)
			}
		}
		for method, asks := range reachAll(prefix) {
			if modern && (method == "resources/subscribe" || method == "resources/unsubscribe" || method == "tasks/result") {
				continue // that era has none
			}
			for _, params := range asks {
				m := ask(method, params)
				if m.Error == nil || m.Error.Code != -32602 || !strings.HasPrefix(m.Error.Message, "unknown ") {
					t.Errorf("%s: %s %v: %s", what, method, params, m.Line)
				}
			}
		}
		m := ask("tools/call", reachAll(prefix)["tools/call"][0])
		var data struct {
			Mcpx struct{ Server, Rule, Reason string }
		}
		if err := json.Unmarshal(m.Error.Data, &data); err != nil || data.Mcpx.Server != "elm" || data.Mcpx.Rule != "default" || !strings.Contains(data.Mcpx.Reason, "hidden by rule default") {
			t.Errorf("%s: the refusal says %s", what, m.Error.Data)
		}
	}
	for _, to := range []string{"elm", ""} {
		for _, modern := range []bool{false, true} {
			absent(fmt.Sprintf("connect %q, modern %v", to, modern), to, modern)
		}
	}
	if got := r.Instances("elm"); len(got) > 0 {
		t.Errorf("a hidden server was started: %+v", got)
	}

	// Now it was seen, so that its lists are kept and its process runs.
	r.Write(filepath.Join(r.Home, rulesFile), `{}`)
	h := r.Connect(r.Home)
	h.Open()
	r.Until("the rules are read", func(s api.Status) bool { return slices.Contains(s.Sessions[0].Visible, "elm") })
	for _, method := range hiddenLists {
		h.Ask(method, map[string]any{})
	}
	if got := h.Call("elm__whose", map[string]any{}); got != "elm" {
		t.Errorf("shown: got %s", got)
	}
	calls := r.Listed("elm").Calls
	h.Close()
	hide()
	h = r.Connect(r.Home)
	h.Open()
	r.Until("the rules are read", func(s api.Status) bool { return slices.Contains(s.Sessions[0].Hidden, "elm") })
	h.Close()
	for _, to := range []string{"elm", ""} {
		for _, modern := range []bool{false, true} {
			absent(fmt.Sprintf("connect %q, modern %v, after it ran", to, modern), to, modern)
		}
	}
	if now := r.Instances("elm"); len(now) != 1 || now[0].Calls != calls || now[0].Sessions != 0 {
		t.Errorf("a hidden server was reached: %d calls before, now %+v", calls, now)
	}
}

func merged(maps ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range maps {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// TestAnEditOfTheRulesReachesTheSessionsItConcerns: within a second or so, and
// nobody else is told.
func TestAnEditOfTheRulesReachesTheSessionsItConcerns(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`}}`)
	here, there := filepath.Join(r.Home, "here"), filepath.Join(r.Home, "there")
	r.Write(filepath.Join(here, "file"), "")
	r.Write(filepath.Join(there, "file"), "")
	var concerned, others []*rig.Host
	for i, dir := range []string{here, here, there, there} {
		args := []string{"--session", filepath.Base(dir)}
		if i%2 == 1 {
			args = append(args, "elm")
		}
		h := r.Connect(dir, args...)
		h.Open()
		h.Ask("tools/list", map[string]any{})
		if dir == here {
			concerned = append(concerned, h)
		} else {
			others = append(others, h)
		}
	}
	r.Listed("elm")
	drain(concerned...)
	drain(others...)
	began := time.Now()
	r.Write(filepath.Join(r.Home, rulesFile), `{"rules": [{"path": "~/here", "servers": ["ash"]}]}`)
	for _, h := range concerned {
		if m := h.Note("list_changed"); m.Method != "notifications/tools/list_changed" {
			t.Errorf("told %s", m.Line)
		}
		if m := h.Ask("tools/call", map[string]any{"name": "elm__whose", "arguments": map[string]any{}}); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("after the edit: %s", m.Line)
		}
		h.Ask("tools/list", map[string]any{})
	}
	t.Logf("told after %v", time.Since(began))
	for _, h := range others {
		h.Ask("ping", map[string]any{})
		select {
		case m := <-h.Notes:
			t.Errorf("a session that nothing changes for was told %s", m.Line)
		default:
		}
	}
	if got := r.Mcpx("explain", "elm", "--cwd", here); !strings.Contains(strings.ReplaceAll(got, "->", "→"), "visible  no, rule ~/here → ash") { // the arrow is as the locale has it
		t.Errorf("explain:\n%s", got)
	}
	s := r.Status()
	for _, sess := range s.Sessions {
		rule := ""
		if sess.Rule != nil {
			rule = *sess.Rule
		}
		if want := map[string]string{here: "~/here", there: ""}[sess.Cwd.Path]; rule != want {
			t.Errorf("status: the session in %s goes by rule %q, want %q", sess.Cwd.Path, rule, want)
		}
	}

	r.Write(filepath.Join(r.Home, rulesFile), `{"rules": [`)
	for _, h := range concerned { // a broken document is open, unless the config says otherwise
		h.Note("list_changed")
	}
	if s := r.Status(); !slices.ContainsFunc(s.Problems, func(p api.Problem) bool { return p.Field == "rules" && !p.Warning }) {
		t.Errorf("status does not tell of a broken document: %+v", s.Problems)
	}
	if log := r.Log(); !strings.Contains(log, "rules: cannot be used") {
		t.Errorf("the log does not tell of a broken document:\n%s", log)
	}
}

// drain forgets what hosts were told so far.
func drain(hosts ...*rig.Host) {
	for _, h := range hosts {
		h.Ask("ping", map[string]any{})
		for len(h.Notes) > 0 {
			<-h.Notes
		}
	}
}

// TestAnAgentMayTakeAwayAndNotGive holds threat T8 for rules: a command below the
// host of an open session narrows, and does not widen; a person's does both.
func TestAnAgentMayTakeAwayAndNotGive(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`}}`)
	h := r.Connect(r.Home)
	h.Open()
	h.Ask("tools/list", map[string]any{})
	drain(h)
	r.Mcpx("rules", "set", "default", "ash")
	h.Note("list_changed")
	out, err := r.Command("rules", "set", "default", "all").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "asked from inside an agent's session") || !strings.Contains(string(out), "type: mcpx rules set default all") {
		t.Errorf("an agent widens: %v\n%s", err, out)
	}
	if m := h.Ask("tools/call", map[string]any{"name": "elm__whose", "arguments": map[string]any{}}); m.Error == nil {
		t.Errorf("it is not hidden: %s", m.Line)
	}
	if out := r.Elsewhere("rules", "set", "default", "all"); !strings.Contains(out, "default  all") {
		t.Errorf("a person widens: %s", out)
	}
	h.Ask("tools/list", map[string]any{})
	if got := h.Call("elm__whose", map[string]any{}); got != "elm" {
		t.Errorf("shown again: got %s", got)
	}
	for _, socket := range []string{"attach"} {
		if status, _ := r.Post(socket, "PUT", "/v1/rules", `{"op":"default","servers":"*"}`); status != 404 {
			t.Errorf("%s.sock takes rules: %d", socket, status)
		}
	}
	if status, body := r.Post("control", "PUT", "/v1/rules", `{"op":"default","servers":"*","command":"x"}`); status != 400 {
		t.Errorf("a program in a request: %d %s", status, body)
	}
}

// TestRulesHoldOverHTTP: a session's directory is what it says there, and the
// rules are the same, in both eras.
func TestRulesHoldOverHTTP(t *testing.T) {
	r, url, token := overHTTP(t, rich(t, "ash", "")+","+rich(t, "elm", "")+","+rich(t, "oak", ""))
	here, there := filepath.Join(r.Home, "here"), filepath.Join(r.Home, "there")
	r.Write(filepath.Join(here, "file"), "")
	r.Write(filepath.Join(there, "file"), "")
	r.Write(filepath.Join(r.Home, rulesFile), `{"rules": [{"path": "~/here", "servers": ["ash", "oak"]}]}`)
	r.Until("the rules are read", func(api.Status) bool { return strings.Contains(r.Mcpx("rules"), "~/here") })
	for _, version := range eras {
		s, _ := webClient(t, url, token, version, mcp.ClientOptions{}, headers{"X-Mcpx-Cwd": here})
		for _, name := range toolNames(t, s) {
			if strings.HasPrefix(name, "elm__") {
				t.Errorf("%s: %s is listed", version, name)
			}
		}
		if got := callText(t, s, "elm__whose", nil); !strings.Contains(got, `unknown tool "elm__whose"`) {
			t.Errorf("%s: a hidden tool: %s", version, got)
		}
		if got := r.Instances("elm"); len(got) > 0 && version == eras[0] {
			t.Errorf("%s: a hidden server was started: %+v", version, got)
		}
		all, _ := webClient(t, url, token, version, mcp.ClientOptions{}, headers{"X-Mcpx-Cwd": there})
		toolNames(t, all)
		if got := callText(t, all, "elm__whose", nil); got != "elm" {
			t.Errorf("%s: elsewhere: %s", version, got)
		}
	}
}
