package daemon

import (
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/page"
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

func TestManages(t *testing.T) { // threat T8
	both := []config.ManagementTool{config.ManageStatus, config.ManageRoots}
	instances := []api.InstanceStatus{{PID: 7, Key: "session:a"}, {PID: 8, Key: "session:b"}, {PID: 9, Key: "global"}, {Key: "session:c"}}
	below := func(pid int) []proc.Info { return []proc.Info{{ID: proc.ID{PID: 99}}, {ID: proc.ID{PID: pid}}} }
	for _, tt := range []struct {
		name   string
		daemon config.Daemon
		caller []proc.Info
		want   bool
	}{
		{"a server of the session's own may", config.Daemon{ManagementTools: both}, below(7), true},
		{"that of another may not", config.Daemon{ManagementTools: both}, below(8), false},
		{"one that all share may not", config.Daemon{ManagementTools: both}, below(9), false},
		{"a remote has no process", config.Daemon{ManagementTools: both}, below(0), false},
		{"not by default", config.Daemon{}, below(7), false},
		{"nor with what only reads", config.Daemon{ManagementTools: both[:1]}, below(7), false},
		{"not where nobody may", config.Daemon{ManagementTools: both, Approve: config.ApproveNever}, below(7), false},
	} {
		if got := manages(tt.daemon, tt.caller, "a", instances); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestApproveVisitor(t *testing.T) { // threats T8, T32
	for _, tt := range []struct {
		policy config.Approve
		person bool
		want   bool // it may
	}{
		{config.ApprovePerson, true, true}, {config.ApprovePerson, false, false},
		{config.ApproveAny, false, true}, {config.ApproveNever, true, false},
	} {
		if err := approveVisitor(tt.policy, page.Visitor{Person: tt.person}, "mcpx x"); (err == nil) != tt.want {
			t.Errorf("%s, a person: %v: %v", tt.policy, tt.person, err)
		}
	}
}
