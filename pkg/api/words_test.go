package api

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 7, 0, time.UTC)
	tests := []struct {
		name string
		in   InstanceStatus
		want string
		dead bool
	}{
		{"with all there is", InstanceStatus{State: "connected", Tools: 2, Prompts: 1, Resources: 3}, "connected (2 tools, 1 prompt, 3 resources)", false},
		{"with tools alone", InstanceStatus{State: "connected", Tools: 1}, "connected (1 tool)", false},
		{"with nothing", InstanceStatus{State: "connected"}, "connected (0 tools)", false},
		{"one that starts", InstanceStatus{State: "starting"}, "starting", false},
		{"one that starts again", InstanceStatus{State: "starting", LastError: "needs sign-in: mcpx auth login x"}, "starting", false},
		{"up, and not connected", InstanceStatus{State: "list-failed", Reason: "x"}, "up, list failed", true},
		{"one that waits", InstanceStatus{State: "backing-off", LastError: "exit status 1", RetryAt: at}, "backing off (exit status 1, until 12:00:07)", true},
		{"one that failed", InstanceStatus{State: "failed", LastError: "exit status 1"}, "failed (exit status 1)", true},
		{"one that failed without a word", InstanceStatus{State: "failed"}, "failed (no reason given)", true},
		{"one that knows nobody", InstanceStatus{State: "backing-off", LastError: `server "x": needs sign-in: mcpx auth login x`, RetryAt: at}, "needs sign-in", true},
		{"one that ends", InstanceStatus{State: "stopping"}, "stopping", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Words(); got != tt.want || Dead(got) != tt.dead {
				t.Errorf("got %q, dead %v; want %q, %v", got, Dead(got), tt.want, tt.dead)
			}
		})
	}
	for _, alive := range []string{Idle, ListKept, "hidden by rule failed", "disabled"} {
		if Dead(alive) {
			t.Errorf("%q counts as dead", alive)
		}
	}
}
