package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// TestASubscriptionIsHiddenWithItsServer: what another session does there is told
// to no host that sees the server no longer, and again to one that does.
func TestASubscriptionIsHiddenWithItsServer(t *testing.T) {
	for _, to := range []string{"elm", ""} {
		t.Run("connect "+to, func(t *testing.T) {
			r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`}}`)
			here, there := filepath.Join(r.Home, "here"), filepath.Join(r.Home, "there")
			r.Write(filepath.Join(here, "file"), "")
			r.Write(filepath.Join(there, "file"), "")
			args := []string{"--session", "here"}
			if to != "" {
				args = append(args, to)
			}
			h, other := r.Connect(here, args...), r.Connect(there, "--session", "there", "elm")
			h.Open()
			other.Open()
			h.Ask("resources/list", map[string]any{})
			if m := h.Ask("resources/subscribe", map[string]any{"uri": "res://elm/page"}); m.Error != nil {
				t.Fatalf("subscribe: %s", m.Line)
			}
			updated := func(what string) {
				t.Helper()
				for h.Note(what).Method != "notifications/resources/updated" {
				}
			}
			other.Call("touch", map[string]any{})
			updated("a change")
			sees := func(want string) {
				t.Helper()
				r.Until("it sees "+want, func(s api.Status) bool {
					return slices.ContainsFunc(s.Sessions, func(s api.SessionStatus) bool { return s.ID == "here" && s.Badge == want })
				})
				h.Ask("ping", map[string]any{})
			}
			r.Write(filepath.Join(r.Home, rulesFile), `{"rules": [{"path": "~/here", "servers": ["ash"]}]}`)
			sees("ash")
			for h.Note("list_changed").Method != "notifications/resources/list_changed" {
			}
			r.Until("it is not elm's guest", func(s api.Status) bool { return rig.Of(s, "elm")[0].Sessions == 1 })
			other.Call("touch", map[string]any{})
			h.Ask("ping", map[string]any{})
			for len(h.Notes) > 0 {
				if m := <-h.Notes; m.Method == "notifications/resources/updated" {
					t.Errorf("told of a hidden server: %s", m.Line)
				}
			}
			r.Write(filepath.Join(r.Home, rulesFile), `{}`)
			sees("all")
			updated("that it may look again")
			r.Until("it is elm's guest again", func(s api.Status) bool { return rig.Of(s, "elm")[0].Sessions == 2 })
			drain(h)
			other.Call("touch", map[string]any{})
			updated("a change after that")
		})
	}
}

// TestRulesChangeUnderFire: while hosts call, the rules are changed again and
// again. Each call is answered or refused, and what holds last holds for all.
func TestRulesChangeUnderFire(t *testing.T) {
	r := rig.New(t, mcpx, `{"mcpServers": {`+rich(t, "ash", "")+`,`+rich(t, "elm", "")+`}}`)
	var hosts []*rig.Host
	tools := map[*rig.Host]string{}
	for i := range 6 {
		args, tool := []string{"--session", fmt.Sprint("s", i)}, "elm__whose"
		if i%2 == 1 {
			args, tool = append(args, "elm"), "whose"
		}
		h := r.Connect(r.Home, args...)
		h.Open()
		h.Ask("tools/list", map[string]any{})
		hosts, tools[h] = append(hosts, h), tool
	}
	call := func(h *rig.Host) rig.Message {
		return h.Ask("tools/call", map[string]any{"name": tools[h], "arguments": map[string]any{}})
	}
	stop := make(chan struct{})
	var calling sync.WaitGroup
	for _, h := range hosts {
		calling.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if m := call(h); rig.Text(m) != "elm" && (m.Error == nil || m.Error.Code != -32602) {
					t.Errorf("under fire: %s", m.Line)
				}
			}
		})
	}
	all := func(badge string) {
		t.Helper()
		r.Until("all see "+badge, func(s api.Status) bool {
			return !slices.ContainsFunc(s.Sessions, func(s api.SessionStatus) bool { return s.Badge != badge })
		})
	}
	for range 10 {
		r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash"]}`)
		all("ash")
		r.Write(filepath.Join(r.Home, rulesFile), `{}`)
		all("all")
	}
	r.Write(filepath.Join(r.Home, rulesFile), `{"default": ["ash"]}`)
	all("ash")
	close(stop)
	calling.Wait()
	for _, h := range hosts {
		if m := call(h); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("hidden at last: %s", m.Line)
		}
	}
	r.Write(filepath.Join(r.Home, rulesFile), `{}`)
	all("all")
	for _, h := range hosts {
		if m := call(h); rig.Text(m) != "elm" {
			t.Errorf("seen at last: %s", m.Line)
		}
	}
}
