package daemon

import (
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
)

func TestApprove(t *testing.T) { // design D11
	host, recycled, shell := proc.ID{PID: 40, Start: 1}, proc.ID{PID: 40, Start: 2}, proc.ID{PID: 41, Start: 1}
	inside := []proc.Info{{ID: shell}, {ID: host}}
	tests := []struct {
		name   string
		policy config.Approve
		caller []proc.Info
		want   string // part of the refusal; "" when it may
	}{
		{"a person elsewhere may", config.ApprovePerson, []proc.Info{{ID: shell}}, ""},
		{"who descends from a host may not", config.ApprovePerson, inside, "asked from inside an agent's session or a server (pid 40)"},
		{"nor may a host itself", config.ApprovePerson, []proc.Info{{ID: host}}, "inside an agent's session"},
		{"a process with the pid of a host that is gone may", config.ApprovePerson, []proc.Info{{ID: recycled}}, ""},
		{"no policy is person", "", inside, "inside an agent's session"},
		{"any lets everybody", config.ApproveAny, inside, ""},
		{"never lets nobody", config.ApproveNever, []proc.Info{{ID: shell}}, "lets nobody"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := approve(tt.policy, tt.caller, []proc.ID{host}, "mcpx trust /p")
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("approve: got %q, want none", err.Msg)
			case tt.want != "" && err == nil:
				t.Errorf("approve: got no refusal, want one with %q", tt.want)
			case err != nil && (!strings.Contains(err.Msg, tt.want) || err.Hint == ""):
				t.Errorf("approve: got %q (hint %q), want one with %q and a hint", err.Msg, err.Hint, tt.want)
			}
		})
	}
}
