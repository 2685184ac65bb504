package registry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

// TestCyclesLeaveNothing starts and stops good and bad servers again and again,
// those that crash, never answer or die in a call included, and wants as many
// goroutines, descriptors and children as before.
func TestCyclesLeaveNothing(t *testing.T) {
	cycles := 50
	if testing.Short() {
		cycles = 5
	}
	r := newRig(t, "", func(o *Options) { o.Child.Grace = 50 * time.Millisecond })
	all := []*config.Resolved{
		fakeServer(t, "good", scope.Global),
		fakeServer(t, "wrap", scope.Global, "-wrap", "-child"),
		fakeServer(t, "deaf", scope.Global, "-ignore-eof", "-child-setsid"),
		fakeServer(t, "crash", scope.Global, "-crash-start"),
		fakeServer(t, "hang", scope.Global, "-hang-init"),
		fakeServer(t, "die", scope.Global, "-die-on-call", "-half-line"),
	}
	all[4].StartTimeout = 100 * time.Millisecond
	sessions := 0
	cycle := func() {
		sessions++
		cc := scope.CallContext{Session: fmt.Sprint(sessions)} // one alone may not start so many
		var wg sync.WaitGroup
		for _, s := range all {
			wg.Go(func() {
				l, err := r.Acquire(t.Context(), s, cc)
				if bad := s.Name == "crash" || s.Name == "hang"; (err != nil) != bad {
					t.Errorf("server %s: %v", s.Name, err)
				}
				if err != nil {
					return
				}
				defer l.Release()
				_, err = l.Mux().Call(t.Context(), "tools/call", []byte(`{"name":"echo","arguments":{}}`))
				if (err != nil) != (s.Name == "die") {
					t.Errorf("server %s: %v", s.Name, err)
				}
			})
		}
		wg.Wait()
		r.Restart(context.Background(), "", "")
	}
	cycle() // what is opened and begun once
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	for range cycles {
		cycle()
	}
	// One that has told us that it is done may still be on its way out.
	for late := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines || openDescriptors(t) > descriptors; runtime.Gosched() {
		if time.Now().After(late) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines and %d descriptors, before %d and %d:\n%s", runtime.NumGoroutine(), openDescriptors(t), goroutines, descriptors, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if left := below(t); left != "" {
		t.Errorf("children are left: %s", left)
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

// below are the pids of this process's children, zombies included.
func below(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, file := range files {
		pids, _ := os.ReadFile(file) // a thread may have gone
		all += string(pids)
	}
	return strings.TrimSpace(all)
}
