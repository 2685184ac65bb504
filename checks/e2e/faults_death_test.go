package e2e

import (
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// deaths are the stages of a connection at which its shim is killed. What stays
// open is the host's end of the pipes.
var deaths = []struct {
	stage  string
	server string
	reach  func(r *rig.Rig, h *rig.Raw)
}{
	{"before hello", "one", func(*rig.Rig, *rig.Raw) {}},
	{"after hello", "one", func(r *rig.Rig, _ *rig.Raw) {
		r.Until("the session is there", func(s api.Status) bool { return len(s.Sessions) == 2 })
	}},
	{"before the answer to initialize", "one", func(_ *rig.Rig, h *rig.Raw) { h.Write(initialize) }},
	{"after initialize", "one", func(_ *rig.Rig, h *rig.Raw) {
		h.Write(initialize)
		h.Answer(`"init"`)
	}},
	{"asked for its roots", "one", func(_ *rig.Rig, h *rig.Raw) {
		h.Write(withRoots)
		h.Answer(`"init"`)
		h.Write(initialized)
		question(h, "roots/list")
	}},
	{"after initialized", "one", func(_ *rig.Rig, h *rig.Raw) { greets(h) }},
	{"in half a line", "one", func(_ *rig.Rig, h *rig.Raw) {
		greets(h)
		h.Write(`{"jsonrpc":"2.0","id":1,"method":"tools/ca`)
	}},
	{"with a call that waits for roots", "one", func(_ *rig.Rig, h *rig.Raw) {
		h.Write(withRoots)
		h.Answer(`"init"`)
		h.Write(initialized)
		question(h, "roots/list")
		h.Write(echoes("1") + pings("2"))
		h.Answer("2")
	}},
	{"with a call in the queue", "single", func(_ *rig.Rig, h *rig.Raw) {
		greets(h)
		h.Write(echoes("1") + pings("2"))
		h.Answer("2")
	}},
	{"in a call", "one", func(r *rig.Rig, h *rig.Raw) {
		greets(h)
		h.Write(uses("1", "sleep", `{"ms":60000}`))
		leased(r, "one", 1)
	}},
	{"in a call, after the end of its input", "one", func(r *rig.Rig, h *rig.Raw) {
		greets(h)
		h.Write(uses("1", "sleep", `{"ms":60000}`))
		leased(r, "one", 1)
		h.CloseIn()
	}},
	{"with an answer unread", "one", func(r *rig.Rig, h *rig.Raw) {
		greets(h)
		before := r.Instances("one")[0].Calls
		h.Write(uses("1", "big", `{"mib":4}`))
		r.Until("the call is answered", func(s api.Status) bool {
			in := rig.Of(s, "one")[0]
			return in.Calls > before && in.Leases == 0
		})
	}},
}

func pings(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" }

// TestAShimThatIsKilledLeavesNothing kills it at each stage, while its host has
// the pipes open, and lets another session call the same server.
func TestAShimThatIsKilledLeavesNothing(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{
		"one":    `"args": []`,
		"single": `"args": [], "mcpx": {"sharing": "exclusive"}`,
	}))
	other, holder := open(r, r.Home, "one", "--session", "other"), open(r, r.Home, "single", "--session", "other")
	first := whoami(t, other)
	holder.Call("echo", nil)
	r.Until("both servers are listed", func(s api.Status) bool {
		return len(s.Instances) == 2 && s.Instances[0].State == "connected" && s.Instances[1].State == "connected"
	})
	base := descriptors(r)
	for _, tt := range deaths {
		t.Run(tt.stage, func(t *testing.T) {
			own := *r
			own.T = t
			if tt.server == "single" { // somebody else has it
				start(holder, "held", 300)
			}
			h := own.Raw(tt.server, "--session", "faulty")
			tt.reach(&own, h)
			h.Kill()
			nothingLeft(&own, base)
			if got := whoami(t, other); got.PID != first.PID {
				t.Errorf("the other session was process %d's and is %d's", first.PID, got.PID)
			}
			holder.Call("echo", nil)
		})
	}
}
