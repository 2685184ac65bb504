package main

import (
	"testing"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
)

func TestChoose(t *testing.T) {
	open := func(id string, pid int) api.SessionStatus {
		return api.SessionStatus{ID: id, Host: api.HostStatus{Name: "agent", PID: pid}, Cwd: api.CwdStatus{Path: "/" + id}}
	}
	three := []api.SessionStatus{open("aa1", 7), open("ab2", 8), open("c", 8)}
	const all = "aa1 (agent in /aa1), ab2 (agent in /ab2), c (agent in /c)"
	tests := []struct {
		name             string
		sessions         []api.SessionStatus
		a                asker
		want, msg, hints string
	}{
		{"the one that is named", three, asker{flag: "c", variable: "aa1", ancestors: []int{7}}, "c", "", ""},
		{"by how its id begins", three, asker{flag: "ab"}, "ab2", "", ""},
		{"as a table shows it", three, asker{flag: "ab…"}, "ab2", "", ""},
		{"not when two begin so", three, asker{flag: "a"}, "", "2 sessions are called that or begin so", "say which: --session ID, of aa1 (agent in /aa1), ab2 (agent in /ab2)"},
		{"nor when none does", three, asker{flag: "x"}, "", `no open session is called "x"`, "open are: " + all},
		{"its own, by id", three, asker{variable: "ab2", ancestors: []int{7}}, "ab2", "", ""},
		{"its own, by process", three, asker{variable: "gone", ancestors: []int{3, 7, 8}}, "aa1", "", ""},
		{"not when its host has two", three, asker{ancestors: []int{8}}, "", "this is run inside of 2 sessions of one host", "say which: --session ID, of ab2 (agent in /ab2), c (agent in /c)"},
		{"the only one", three[:1], asker{ancestors: []int{1}}, "aa1", "", ""},
		{"not one of several", three, asker{ancestors: []int{1}}, "", "3 sessions are open", "say which: --session ID, of " + all},
		{"none", nil, asker{flag: "c"}, "", "no session is open", "a session is open while a host has mcpx connect running"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := choose(tt.sessions, tt.a)
			msg := ""
			if err != nil {
				msg = err.Error()
			}
			if got.ID != tt.want || msg != tt.msg || config.HintOf(err) != tt.hints {
				t.Errorf("got %q, %q | %s", got.ID, msg, config.HintOf(err))
			}
		})
	}
}
