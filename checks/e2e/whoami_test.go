package e2e

import (
	"encoding/json"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// who is what a fakemcp says of itself and of what it was told.
type who struct {
	PID        int             `json:"pid"`
	Cwd        string          `json:"cwd"`
	Argv       []string        `json:"argv"`
	Env        []string        `json:"env"` // names
	Roots      json.RawMessage `json:"roots"`
	Initialize json.RawMessage `json:"initialize"`
}

// whoami asks the instance that serves h.
func whoami(t *testing.T, h *rig.Host) (w who) {
	t.Helper()
	text := h.Call("whoami", nil)
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		t.Fatalf("whoami: %s: %v", text, err)
	}
	return w
}

// open connects a host that stands in dir.
func open(r *rig.Rig, dir, server string, args ...string) *rig.Host {
	r.T.Helper()
	h := r.Connect(dir, append([]string{server}, args...)...)
	h.Open()
	return h
}

// refused calls a tool that must not be answered and returns mcpx's error.
func refused(t *testing.T, h *rig.Host, tool string) *rig.RPCError {
	t.Helper()
	m := h.Ask("tools/call", map[string]any{"name": tool})
	if m.Error == nil {
		t.Fatalf("%s was answered %s, want an error", tool, m.Line)
	}
	return m.Error
}

type instance = api.InstanceStatus
