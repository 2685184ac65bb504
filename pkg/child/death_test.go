package child

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// pidIn is the number at the end of what a relative says of itself.
func pidIn(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestDeathAtStart(t *testing.T) {
	c := mustStart(t, plan("fakemcp", "-crash-start"), options(t))
	<-c.Done()
	if got := c.Exit(); got != "exit status 3" {
		t.Errorf("Exit: got %q", got)
	}
	if diff := cmp.Diff([]string{"fakemcp: cannot start: no such luck"}, c.StderrTail()); diff != "" {
		t.Errorf("StderrTail (-want +got):\n%s", diff)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestExitIsUnknownWhileItRuns(t *testing.T) {
	c := mustStart(t, plan("fakemcp"), options(t))
	ping(t, c)
	if got := c.Exit(); got != "" {
		t.Errorf("Exit: got %q", got)
	}
}

// A launcher killed from outside leaves the server proper behind, which would
// live on with our pipes (hosts.md §5).
func TestDeathOfAWrapperEndsWhatItWrapped(t *testing.T) {
	for _, args := range [][]string{
		{"-wrap"},
		{"-wrap", "-ignore-term", "-child-setsid"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			o := options(t)
			c := mustStart(t, plan("fakemcp", args...), o)
			ping(t, c)
			if err := syscall.Kill(c.ID().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			<-c.Done()
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("Done came after %v", took)
			}
			checkGone(t, c, o.Marker)
			if _, err := io.Copy(io.Discard, c.Stdout()); err != nil {
				t.Errorf("stdout ended with %v, want its end", err)
			}
		})
	}
}

func TestLastWordsAreReadable(t *testing.T) {
	c := mustStart(t, plan("fakemcp", "-half-line", "-die-on-call"), options(t))
	_, _ = io.WriteString(c.Stdin(), `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`+"\n")
	<-c.Done()
	got, err := io.ReadAll(c.Stdout())
	if want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"ty`; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestStderrFloodHoldsNobody(t *testing.T) {
	o := options(t)
	var lines int
	o.OnStderr = func(string) { lines++ }
	c := mustStart(t, plan("fakemcp", "-stderr-flood", "4"), o)
	ping(t, c)
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if want := 4 << 10; lines != want {
		t.Errorf("OnStderr: got %d lines, want %d", lines, want)
	}
	size := 0
	for _, line := range c.StderrTail() {
		size += len(line)
	}
	if n := len(c.StderrTail()); n > tailLines || size > tailBytes || size < tailBytes/2 {
		t.Errorf("StderrTail: %d lines of %d bytes together", n, size)
	}
}

func TestTail(t *testing.T) {
	var lines tail
	for i := range 250 {
		lines.add(itoa(i))
	}
	got := lines.all()
	if len(got) != 100 || got[0] != "150" || got[99] != "249" {
		t.Errorf("got %d lines, %q to %q", len(got), got[0], got[len(got)-1])
	}
	lines.add(strings.Repeat("x", tailBytes))
	if got := lines.all(); len(got) != 1 {
		t.Errorf("a line as long as the tail keeps %d others", len(got)-1)
	}
}

func TestCyclesLeaveNothing(t *testing.T) {
	faults := [][]string{nil, {"-crash-start"}, {"-child"}, {"-child-setsid"}, {"-wrap"}}
	round := func() {
		var wg sync.WaitGroup
		for _, args := range faults {
			o := options(t)
			o.Grace = 100 * time.Millisecond
			wg.Go(func() {
				c, err := Start(t.Context(), plan("fakemcp", args...), o)
				if err != nil {
					t.Error(err)
					return
				}
				if err := c.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	round() // what the runtime opens once
	descriptors, goroutines := openDescriptors(t), runtime.NumGoroutine()
	for range 10 {
		round()
	}
	if got := openDescriptors(t); got != descriptors {
		t.Errorf("descriptors: got %d, want %d", got, descriptors)
	}
	// One that has told us that it is done may still be on its way out.
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("goroutines: got %d, want %d", runtime.NumGoroutine(), goroutines)
			break
		}
	}
	for _, p := range table(t) {
		if p.parent == os.Getpid() {
			t.Errorf("a child is left: %+v", p)
		}
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd")
	}
	return len(entries)
}

// row is of the process table, which the tests read without package proc.
type row struct {
	pid, parent, group int
	state              string
}

func table(t *testing.T) []row {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		t.Skip("no /proc")
	}
	var rows []row
	for _, file := range files {
		data, _ := os.ReadFile(file)
		pid, rest, _ := strings.Cut(string(data), " (")
		_, rest, _ = strings.Cut(rest, ") ")
		var r row
		if _, err := fmt.Sscan(pid+" "+rest, &r.pid, &r.state, &r.parent, &r.group); err == nil {
			rows = append(rows, r)
		}
	}
	return rows
}
