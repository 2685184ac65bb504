package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/scope"
)

func TestStderrIsKeptAndFollowed(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "broken", scope.Global, "-crash-start")
	lines, cancel := r.Subscribe("broken")
	defer cancel()
	_, err := r.Acquire(t.Context(), s, scope.CallContext{})
	if err == nil {
		t.Fatal("Acquire: got none of the error")
	}
	line := <-lines
	if line.Server != "broken" || line.Key != "global" || line.Line == "" || line.Time.IsZero() {
		t.Errorf("followed: got %+v", line)
	}
	if !strings.Contains(err.Error(), line.Line) {
		t.Errorf("Acquire: got %v, want the last words %q", err, line.Line)
	}
	kept := r.Logs("broken")
	if len(kept) == 0 || kept[0].Line != line.Line || len(r.Logs("")) != len(kept) || len(r.Logs("other")) != 0 {
		t.Errorf("kept: got %+v", kept)
	}
}

func TestLogsAreBounded(t *testing.T) {
	r := newRig(t, "", nil)
	slow, cancel := r.Subscribe("")
	others, cancelOthers := r.Subscribe("other")
	for i := range 2 * ringLines {
		r.logs.add(LogLine{Server: "chatty", Line: fmt.Sprint(i)})
	}
	kept := r.Logs("chatty")
	if len(kept) != ringLines || kept[0].Line != fmt.Sprint(ringLines) {
		t.Errorf("kept: got %d lines from %q, want the last %d", len(kept), kept[0].Line, ringLines)
	}
	if len(slow) != behindByMost || len(others) != 0 {
		t.Errorf("followers: got %d and %d lines waiting, want %d and none", len(slow), len(others), behindByMost)
	}
	cancel()
	cancel()
	cancelOthers()
	if _, open := <-others; open {
		t.Error("a cancelled follower's channel is open")
	}
}
