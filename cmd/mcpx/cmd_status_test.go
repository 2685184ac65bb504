package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dezren39/mcpx/pkg/api"
)

func busy(now time.Time) *api.Status {
	return &api.Status{
		Daemon: api.DaemonStatus{Version: "0.3.0", PID: 4182, StartedAt: now.Add(-2 * time.Hour), Children: 5,
			RSSBytes: 412 << 20, Config: []string{"/home/you/.config/mcpx/config.json"},
			HTTP: &api.HTTPStatus{URL: "http://127.0.0.1:7780/mcp", TokenFile: "/home/you/.local/state/mcpx/http.token"}},
		Instances: []api.InstanceStatus{
			{Server: "browser", Scope: "session", Key: "session:7f3a", PID: 4410, CwdSource: "daemon", Era: "legacy",
				State: "connected", Tools: 27, Calls: 88, Leases: 1, Excess: 120345},
			{Server: "gopls", Scope: "worktree", Key: "worktree:/home/you/src/shop", Root: "/home/you/src/shop", PID: 4201,
				CwdSource: "scope", Era: "legacy", State: "connected", Tools: 8, Calls: 1204, LastUsed: now.Add(-3 * time.Second)},
			{Server: "gopls", Scope: "worktree", Root: "/home/you/src/shop-feature", PID: 4377, CwdSource: "scope", Era: "legacy",
				State: "connected", Tools: 8, Calls: 12, LastUsed: now.Add(-41 * time.Second),
				Noise: 3, NoiseLines: []string{"hi", "listening on stdio"}},
			{Server: "jira", Scope: "global", Key: "global", State: "backing-off", RetryAt: now.Add(12 * time.Second),
				LastError: "exit status 1: no such host\x1b[2J"},
		},
		Servers: []api.ServerStatus{
			{Name: "browser", Scope: "session"}, {Name: "gopls", Scope: "worktree"}, {Name: "jira", Scope: "global"},
			{Name: "context7", Scope: "global", State: "idle", Tools: 2, Listed: true},
		},
		Sessions: []api.SessionStatus{
			{ID: "7f3a", Host: api.HostStatus{Name: "claude-code"}, Cwd: api.CwdStatus{Path: "/home/you/src/shop-feature", Origin: "roots"},
				Since: now.Add(-14 * time.Minute), Servers: []api.SessionServer{{Name: "gopls", State: "connected"}, {Name: "x", State: "disabled"}}},
		},
		Problems: []api.Problem{{Where: "/home/you/.config/mcpx/config.json:14:16", Server: "gopls", Field: "args[1]",
			Message: "unknown placeholder ${mcpx.rot}", Hint: "did you mean ${mcpx.root}?"}},
	}
}

func TestStatusIsAsReviewed(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	printer{w: &out, utf8: true}.status(busy(now), "/home/you", now)
	golden(t, "status.txt", out.Bytes())
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("a line of %d columns does not fit %d: %s", n, width, line)
		}
	}
}

func TestStatusWithoutServersSaysWhatToDo(t *testing.T) {
	now := time.Now()
	var out bytes.Buffer
	printer{w: &out, utf8: true}.status(&api.Status{Daemon: api.DaemonStatus{StartedAt: now}}, "/home/you", now)
	if want := "no server is configured yet: write them to ~/.config/mcpx/config.json, or try mcpx demo\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("status ends with %q, want %q", out.String(), want)
	}
}

func TestAgoIsInTheLargestUnit(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0 s"}, {59 * time.Second, "59 s"}, {14 * time.Minute, "14 m"}, {47 * time.Hour, "47 h"}, {72 * time.Hour, "3 d"},
	}
	for _, tt := range tests {
		if got := ago(tt.d); got != tt.want {
			t.Errorf("ago(%v) = %q, want %q", tt.d, got, tt.want)
		}
	}
}
