package upstream

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a death cuts off answers nobody; the death does (report F1).
func TestServeLetsTheDeathAnswerForWhatItCutOff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		line string // in what is handed on
		end  string
	}{
		{"half of an answer", []string{"-half-line", "-die-on-call"}, "", "exited: exit status 9"},
		{"a whole answer without its newline", []string{"-nonl"}, `"result"`, "exited: exit status 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newServer(t, "fake", tt.args...).mustDial(t)
			lines, end := serving(t, c)
			if err := c.Write(call("7", "echo", "{}")); err != nil {
				t.Fatal(err)
			}
			if err := <-end; err == nil || !strings.Contains(err.Error(), tt.end) {
				t.Errorf("got %v, want %s", err, tt.end)
			}
			got := ""
			for line := range lines {
				got += line
			}
			if (got == "") != (tt.line == "") || !strings.Contains(got, tt.line) {
				t.Errorf("handed on %q, want %q in it", got, tt.line)
			}
		})
	}
}

// A server that takes no more requests is done with, at once for whoever asks
// next, and is stopped if it lives on.
func TestAServerThatClosesItsStdinIsDone(t *testing.T) {
	t.Parallel()
	s := newServer(t, "script", "server/discover="+unknownMethod, "initialize="+legacyAnswer, "hush=deaf")
	s.options.Child.Grace = 100 * time.Millisecond
	c := s.mustDial(t)
	lines, end := serving(t, c)
	if got := exchange(t, c, lines, []byte(`{"jsonrpc":"2.0","method":"hush"}`+"\n")); !strings.Contains(got, "notifications/deaf") {
		t.Fatalf("got %s", got)
	}
	if err := c.Write(call("1", "echo", "{}")); err != syscall.EPIPE {
		t.Errorf("Write: got %v, want %v", err, syscall.EPIPE)
	}
	select {
	case <-c.Done():
	default:
		t.Error("the next who asks is sent here too")
	}
	<-end
}

// A server in a line that has no end answers nobody any more: who waits for that
// line is told, and the server is ended (threat T34).
func TestServeGivesUpOnALineWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newServer(t, "fake", "-endless-line")
	s.options.Child.Grace = 100 * time.Millisecond
	c := s.mustDial(t)
	lines, end := serving(t, c)
	got := exchange(t, c, lines, call("7", "echo", "{}"))
	if !strings.Contains(got, `"id":7,"error"`) || !strings.Contains(got, "over the limit") {
		t.Errorf("the call was answered %s", got)
	}
	const want = `server "srv": wrote a line without end`
	if err := <-end; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	<-c.proc.Done()
}
