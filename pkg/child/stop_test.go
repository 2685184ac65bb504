package child

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/proc"
)

// checkGone fails when anything of the child's family lives.
func checkGone(t *testing.T, c *Process, marker string) {
	t.Helper()
	if kin := proc.Kin(c.ID(), marker); len(kin) > 0 {
		t.Errorf("relatives that live on: %v", kin)
	}
	for _, p := range table(t) {
		if p.group == c.ID().PID && p.state != "Z" { // an orphan's zombie is init's to reap
			t.Errorf("member of the group that lives on: %d", p.pid)
		}
	}
}

func TestStopLadder(t *testing.T) {
	const (
		obeyed = "exit status 0" // the fake server exits 0 on a signal that it obeys
		killed = "signal: killed"
	)
	tests := []struct {
		name string
		role string
		args []string
		exit string
	}{
		{"a server that obeys the end of stdin", "fakemcp", nil, obeyed},
		{"one that obeys TERM only", "fakemcp", []string{"-ignore-eof"}, obeyed},
		{"one that obeys nothing", "fakemcp", []string{"-ignore-eof", "-ignore-term"}, killed},
		{"one that no longer reads", "fakemcp", []string{"-stop-reading"}, obeyed},
		{"one with a child in its group that holds stdout", "fakemcp", []string{"-child"}, obeyed},
		{"one with a child in another session", "fakemcp", []string{"-child-setsid"}, obeyed},
		{"one with both that obeys nothing", "fakemcp", []string{"-child", "-child-setsid", "-ignore-eof", "-ignore-term"}, killed},
		{"one behind a wrapper", "fakemcp", []string{"-wrap"}, obeyed},
		{"one behind a wrapper that obeys TERM only", "fakemcp", []string{"-wrap", "-ignore-eof"}, "signal: terminated"},
		{"one behind a wrapper that obeys nothing", "fakemcp", []string{"-wrap", "-ignore-eof", "-ignore-term", "-child-setsid"}, "signal: terminated"},
		{"one with a deaf child in another session", "with a deaf relative", nil, obeyed},
		{"one with such a child without our mark", "with an unmarked relative", nil, obeyed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			c := mustStart(t, plan(tt.role, tt.args...), o)
			ping(t, c)
			if err := c.Stop(t.Context()); err != nil {
				t.Errorf("Stop: %v", err)
			}
			if got := c.Exit(); got != tt.exit {
				t.Errorf("Exit: got %q, want %q", got, tt.exit)
			}
			checkGone(t, c, o.Marker)
			if err := c.Stop(t.Context()); err != nil {
				t.Errorf("second Stop: %v", err)
			}
		})
	}
}

func TestStopOfAStoppedServer(t *testing.T) {
	o := options(t)
	c := mustStart(t, plan("fakemcp"), o)
	ping(t, c)
	if err := syscall.Kill(c.ID().PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	// It feels the end of its input and TERM at once: either may end it.
	if got := c.Exit(); got != "exit status 0" && got != "signal: terminated" {
		t.Errorf("Exit: got %q, want it to have felt TERM", got)
	}
	checkGone(t, c, o.Marker)
}

func TestStopBeforeTheServerReads(t *testing.T) {
	o := options(t)
	c := mustStart(t, plan("fakemcp", "-start-delay", "1m"), o)
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	checkGone(t, c, o.Marker)
}

func TestStopIsPatientOnlyAsLongAsItsContext(t *testing.T) {
	o := options(t)
	o.Grace = time.Minute
	c := mustStart(t, plan("fakemcp", "-ignore-eof", "-ignore-term"), o)
	ping(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if got := c.Exit(); got != "signal: killed" {
		t.Errorf("Exit: got %q, want it killed", got)
	}
	checkGone(t, c, o.Marker)
}

func TestStopFromManyGoroutines(t *testing.T) {
	o := options(t)
	c := mustStart(t, plan("fakemcp", "-ignore-eof"), o)
	ping(t, c)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := c.Stop(t.Context()); err != nil {
				t.Errorf("Stop: %v", err)
			}
			if c.Exit() == "" {
				t.Error("Stop returned before the end")
			}
		})
	}
	wg.Wait()
	checkGone(t, c, o.Marker)
}

// A relative without mark, group or line of descent cannot be known; it may hold
// the pipes, but not the stop, nor a reader.
func TestGhostHoldsNobody(t *testing.T) {
	o := options(t)
	ghost := make(chan string, 1)
	o.OnStderr = func(line string) { ghost <- line }
	c := mustStart(t, plan("with a ghost"), o)
	ping(t, c)
	pid := pidIn(t, <-ghost)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	read := make(chan error)
	go func() {
		_, err := c.Stdout().Read(make([]byte, 1))
		read <- err
	}()
	_ = c.Stdin().Close()
	<-c.Done()
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after the end: got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestStopNamesWhatEscaped(t *testing.T) {
	start, _ := proc.StartTime(os.Getpid())
	me := proc.ID{PID: os.Getpid(), Start: start}
	p := &Process{server: "srv", exited: make(chan struct{}), kin: map[proc.ID]int{me: 1}}
	close(p.exited)
	p.nameEscaped()
	want := `server "srv": stopped, but these of its processes live on: pid ` + itoa(me.PID)
	if p.escaped == nil || p.escaped.Error() != want {
		t.Errorf("got %v, want %s", p.escaped, want)
	}
}
