package main

import (
	"fmt"
	"testing"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/socket"
)

func TestExplainSaysWhatTheDaemonDoesNow(t *testing.T) {
	running := &api.Status{Instances: []api.InstanceStatus{{Server: "a", Key: "global", State: "connected", PID: 7}}}
	tests := []struct {
		name    string
		server  string
		status  *api.Status
		unasked error
		want    string
	}{
		{"one that runs it", "a", running, nil, "connected, pid 7, 0 calls, 0 sessions"},
		{"one that does not", "b", running, nil, "not running: the first call starts it"},
		{"none", "a", nil, fmt.Errorf("x: %w", socket.ErrNoDaemon), "no daemon runs"},
		{"one that is stopped", "a", nil, &api.SilentError{PID: 7}, "not known: the daemon (pid 7) runs and did not answer in 0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := explained{Server: tt.server, Key: "global", Visible: true, server: &config.Resolved{}}
			if got := e.now(tt.status, tt.unasked); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
