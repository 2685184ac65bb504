package demo

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func right() (*Report, []expectation) {
	rep := &Report{Sessions: []Session{
		{PID: 7, RunIn: "/shop", Roots: []string{"file:///shop"}, Saw: []string{"OnlyOnMain"}},
		{PID: 7, RunIn: "/shop", Roots: []string{"file:///shop"}, Saw: []string{"OnlyOnMain"}},
		{PID: 8, RunIn: "/feature", Roots: []string{"file:///feature"}, Saw: []string{"OnlyOnFeature"}},
	}}
	return rep, []expectation{
		{checkout: "/shop", sees: "OnlyOnMain", never: "OnlyOnFeature"},
		{checkout: "/shop", sees: "OnlyOnMain", never: "OnlyOnFeature", peer: 1},
		{checkout: "/feature", sees: "OnlyOnFeature", never: "OnlyOnMain"},
	}
}

func TestJudgeFindsWhatIsWrong(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Report)
		want  [3][]string
	}{
		{"nothing", func(*Report) {}, [3][]string{}},
		{"the wrong directory", func(r *Report) { r.Sessions[2].RunIn = "/home" },
			[3][]string{2: {"its server runs in /home, not in /feature"}}},
		{"the wrong root", func(r *Report) { r.Sessions[0].Roots = nil },
			[3][]string{0: {"its server was told nothing, not file:///shop"}}},
		{"an empty answer", func(r *Report) { r.Sessions[0].Saw = nil },
			[3][]string{0: {"it saw nothing, not OnlyOnMain"}}},
		{"the other checkout's answer", func(r *Report) { r.Sessions[2].Saw = []string{"OnlyOnFeature", "OnlyOnMain"} },
			[3][]string{2: {"it saw OnlyOnMain, which is in the other checkout"}}},
		{"no sharing", func(r *Report) { r.Sessions[1].PID = 9 },
			[3][]string{1: {"it does not share the process of session 1"}}},
		{"sharing across checkouts", func(r *Report) { r.Sessions[2].PID = 7 },
			[3][]string{2: {"it shares a process with session 1"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep, expected := right()
			tt.spoil(rep)
			judge(rep, expected)
			var got [3][]string
			for i, s := range rep.Sessions {
				got[i] = s.Wrong
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("wrong (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeCountsProcesses(t *testing.T) {
	rep, expected := right()
	judge(rep, expected)
	if rep.Processes != 2 || rep.Sessions[1].Peer != 1 || rep.Sessions[2].Peer != 0 {
		t.Errorf("judge: %+v, want 2 processes and session 2 sharing with 1", rep)
	}
}

func TestPrivateEnvKnowsNoOtherSession(t *testing.T) {
	got := privateEnv([]string{
		"PATH=/bin", "HOME=/home/you", "PWD=/x", "XDG_STATE_HOME=/s", "MCPX_CONFIG=/c", "MCPX_RUNTIME_DIR=/r",
		"CLAUDE_PROJECT_DIR=/p", "CLAUDE_CODE_SESSION_ID=1", "WORKSPACE_FOLDER_PATHS=/w", "GOPATH=/go",
	}, "/demo")
	if want := []string{"PATH=/bin", "GOPATH=/go", "HOME=/demo"}; !slices.Equal(got, want) {
		t.Errorf("privateEnv = %q, want %q", got, want)
	}
}
