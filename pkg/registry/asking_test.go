package registry

import (
	"testing"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/mux"
)

// TestAskingOf holds protocol §3.6: a wrong person asked is a security bug, a
// refused question is not.
func TestAskingOf(t *testing.T) {
	tests := []struct {
		requests config.ServerRequests
		sharing  config.Sharing
		key      string
		want     mux.Asking
	}{
		{config.RequestsAuto, config.Shared, "global", mux.AskNobody},
		{config.RequestsAuto, config.Shared, "worktree:/w", mux.AskNobody},
		{config.RequestsAuto, config.Exclusive, "global", mux.AskCaller},
		{config.RequestsAuto, config.Shared, "session:s", mux.AskOwner},
		{config.RequestsAuto, config.Shared, "psession:s", mux.AskOwner},
		{config.RequestsAuto, config.Shared, "pid:1.2", mux.AskOwner},
		{config.RequestsAuto, config.Shared, "call:1", mux.AskOwner},
		{config.RequestsAttribute, config.Shared, "repo:/w/.git", mux.AskCaller},
		{config.RequestsAttribute, config.Shared, "session:s", mux.AskOwner},
		{config.RequestsRefuse, config.Shared, "session:s", mux.AskNever},
		{config.RequestsRefuse, config.Exclusive, "global", mux.AskNever},
	}
	for _, tt := range tests {
		got := askingOf(&config.Resolved{ServerRequests: tt.requests, Sharing: tt.sharing}, tt.key)
		if got != tt.want {
			t.Errorf("askingOf(%s, %s, %s) = %v, want %v", tt.requests, tt.sharing, tt.key, got, tt.want)
		}
	}
}
