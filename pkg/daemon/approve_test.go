package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
)

func TestApprove(t *testing.T) {
	shell := proc.Info{ID: proc.ID{PID: 10, Start: 1}}
	agent := proc.Info{ID: proc.ID{PID: 20, Start: 2}}
	typed := "mcpx trust /src/.mcpx.json"
	fromInside := &api.Error{
		Field: "daemon.approve",
		Msg:   "asked from inside an agent's session (pid 20), and that is for a person to say",
		Hint:  "in a terminal of your own, type: " + typed,
	}
	tests := []struct {
		name   string
		policy config.Approve
		caller []proc.Info
		hosts  []proc.ID
		want   *api.Error
	}{
		{"a person's shell may", config.ApprovePerson, []proc.Info{shell}, []proc.ID{agent.ID}, nil},
		{"what runs below the host of an open session may not", config.ApprovePerson, []proc.Info{shell, agent}, []proc.ID{agent.ID}, fromInside},
		{"the host itself may not", config.ApprovePerson, []proc.Info{agent}, []proc.ID{agent.ID}, fromInside},
		{"a recycled pid is not the host", config.ApprovePerson, []proc.Info{{ID: proc.ID{PID: 20, Start: 9}}}, []proc.ID{agent.ID}, nil},
		{"without an open session anybody of the user may", config.ApprovePerson, []proc.Info{agent}, nil, nil},
		{"any lets the host, too", config.ApproveAny, []proc.Info{agent}, []proc.ID{agent.ID}, nil},
		{"never lets nobody", config.ApproveNever, []proc.Info{shell}, nil, &api.Error{
			Field: "daemon.approve", Msg: "this daemon lets nobody change that",
			Hint: `edit the file, or set "approve" to "person" in the daemon block`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, approve(tt.policy, tt.caller, tt.hosts, typed)); diff != "" {
				t.Errorf("approve (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDaemonBlockLiesOverTheBase(t *testing.T) {
	base := []string{"PATH=/usr/bin", "HOME=/home/you", "A=1"}
	got := withDaemonBlock(base, config.Daemon{Path: []string{"/opt/bin", "/bin"}, Env: map[string]string{"A": "2", "B": "3"}})
	if diff := cmp.Diff([]string{"A=2", "B=3", "HOME=/home/you", "PATH=/opt/bin:/bin"}, got); diff != "" {
		t.Errorf("withDaemonBlock (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATH=/usr/bin", "HOME=/home/you", "A=1"}, base); diff != "" {
		t.Errorf("the base was changed (-want +got):\n%s", diff)
	}
}

// TestRoutes holds threat T10: what the control socket can be asked is this,
// and no route describes a program.
func TestRoutes(t *testing.T) {
	want := []string{
		"GET /v1/config", "GET /v1/logs", "GET /v1/status",
		"POST /v1/reload", "POST /v1/restart", "POST /v1/stop", "POST /v1/trust", "POST /v1/untrust",
	}
	var got []string
	for route := range (&Daemon{}).routes() {
		got = append(got, route)
	}
	sortStrings := cmp.Transformer("sorted", func(in []string) map[string]bool {
		out := map[string]bool{}
		for _, s := range in {
			out[s] = true
		}
		return out
	})
	if diff := cmp.Diff(want, got, sortStrings); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}
