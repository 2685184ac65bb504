package registry

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/google/go-cmp/cmp"
)

func TestSessionsShareOneProcessInTheRightDirectory(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Cwd)
	here, there := dir(t, "here"), dir(t, "there")
	pids := make([]int, 20)
	var wg sync.WaitGroup
	for i := range pids {
		wg.Go(func() {
			l, err := r.Acquire(t.Context(), s, scope.CallContext{Cwd: here, Session: strconv.Itoa(i)})
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Release()
			pids[i] = whoami(t, l).PID
		})
	}
	wg.Wait()
	for _, pid := range pids {
		if pid != pids[0] || pid == 0 {
			t.Fatalf("processes of 20 sessions: got %v, want one", pids)
		}
	}
	other := r.acquire(t, s, scope.CallContext{Cwd: there})
	defer other.Release()
	if got := whoami(t, other); got.PID == pids[0] || got.Cwd != there {
		t.Errorf("from another directory: got %+v, want another process there", got)
	}

	lines := r.log.said("spawned")
	if len(lines) != 2 {
		t.Fatalf("got %d lines of spawns, want one for each of 2", len(lines))
	}
	for i, want := range []map[string]string{
		{"level": "INFO", "msg": "spawned", "server": "fake", "key": "cwd:" + here, "root": here, "dir": here, "dir_source": "scope", "era": "legacy", "pid": strconv.Itoa(pids[0])},
		{"level": "INFO", "msg": "spawned", "server": "fake", "key": "cwd:" + there, "root": there, "dir": there, "dir_source": "scope", "era": "legacy", "pid": lines[1]["pid"]},
	} {
		delete(lines[i], "took")
		if diff := cmp.Diff(want, lines[i]); diff != "" {
			t.Errorf("line of a spawn (-want +got):\n%s", diff)
		}
	}
}

func TestRunningIsTheWarmPath(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Global)
	if _, ok := r.Running(s, "global", ""); ok {
		t.Error("cold: got a lease")
	}
	r.acquire(t, s, scope.CallContext{}).Release()
	l, ok := r.Running(s, "global", "")
	if !ok {
		t.Fatal("warm: got none")
	}
	l.Release()
	if allocs := testing.AllocsPerRun(100, func() {
		l, _ := r.Running(s, "global", "")
		l.Release()
	}); allocs > 1 {
		t.Errorf("Running and Release allocate %v times, want at most 1", allocs)
	}
}

func TestCallScopeIsOneProcessACall(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Call)
	seen := map[int]bool{}
	for i := range 3 {
		l := r.acquire(t, s, scope.CallContext{CallID: strconv.Itoa(i)})
		seen[whoami(t, l).PID] = true
		m := l.Mux()
		l.Release()
		<-m.Done()
	}
	if len(seen) != 3 {
		t.Errorf("3 calls were served by %d processes, want 3", len(seen))
	}
}

func TestAVanishedRootFailsTheStart(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Cwd)
	gone := dir(t, "gone")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	_, err := r.Acquire(t.Context(), s, scope.CallContext{Cwd: gone})
	for _, part := range []string{`server "fake"`, gone} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Acquire: got %v, want it to name %s", err, part)
		}
	}
	if n := len(r.log.said("spawned")); n != 0 {
		t.Errorf("got %d spawns, want none: a wrong directory is worse than no server", n)
	}
}

func TestAPlaceholderWithoutAValueFailsTheStart(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Global, "-name", "${mcpx.root}")
	_, err := r.Acquire(t.Context(), s, scope.CallContext{Cwd: "/"})
	for _, part := range []string{`server "fake"`, "args[1]", "${mcpx.root}"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Acquire: got %v, want it to name %s", err, part)
		}
	}
}

func TestARestartKeepsTheDirectoryOfTheCreator(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Global, "-name", "${mcpx.cwd}")
	creator := dir(t, "creator")
	var pids []int
	for _, cwd := range []string{creator, dir(t, "other")} {
		l := r.acquire(t, s, scope.CallContext{Cwd: cwd})
		got := whoami(t, l)
		if pids = append(pids, got.PID); got.Argv[2] != creator {
			t.Errorf("${mcpx.cwd}: got %q, want %q", got.Argv[2], creator)
		}
		l.Release()
		if n := r.Restart(t.Context(), "fake", "global"); n != 1 {
			t.Errorf("Restart: got %d, want 1", n)
		}
	}
	if pids[0] == pids[1] {
		t.Error("Restart left the process alone")
	}
}

func TestDegradedScopeIsLoggedOnce(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Worktree, "-exit", "1")
	plain := dir(t, "plain")
	for range 3 {
		_, _ = r.Acquire(t.Context(), s, scope.CallContext{Cwd: plain})
	}
	lines := r.log.said("degraded scope")
	if len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["dir"] != plain || lines[0]["err"] == "" {
		t.Errorf("got %v, want one line at INFO with the directory and the reason", lines)
	}
}

func TestEndSessionStopsWhatTheSessionOwned(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "browser", scope.Session)
	mine := r.acquire(t, s, scope.CallContext{Session: "mine"})
	yours := r.acquire(t, s, scope.CallContext{Session: "yours"})
	mine.Release()
	yours.Release()
	r.EndSession([]string{"session:mine"}, 0)
	<-mine.Mux().Done()
	if _, ok := r.Running(s, "session:yours", ""); !ok {
		t.Error("another session's own is gone, too")
	}
}

func TestSoftRootsOfTheOwningSessionAreAnswered(t *testing.T) {
	r := newRig(t, "", func(o *Options) {
		o.Roots = func(key string) []roots.Root {
			return []roots.Root{{URI: "file:///of/" + key, Name: "of"}}
		}
	})
	s := fakeServer(t, "browser", scope.Session)
	l := r.acquire(t, s, scope.CallContext{Session: "mine"})
	defer l.Release()
	r.RootsChanged("session:mine")
	if got := call(t, l, "roots"); !strings.Contains(got, "file:///of/session:mine") {
		t.Errorf("roots/list: got %s, want the session's", got)
	}
}

func TestKeepRetiresWhatNoViewHasAnyMore(t *testing.T) {
	r := newRig(t, "", nil)
	old, same := fakeServer(t, "edited", scope.Global), fakeServer(t, "same", scope.Global)
	edited := fakeServer(t, "edited", scope.Global, "-name", "new")
	running := r.acquire(t, old, scope.CallContext{})
	kept := r.acquire(t, same, scope.CallContext{})
	kept.Release()
	before := whoami(t, running).PID
	r.Keep([]*config.Resolved{edited, fakeServer(t, "same", scope.Global)})
	if got := whoami(t, running).PID; got != before {
		t.Errorf("a call in progress: got process %d, want %d still", got, before)
	}
	next := r.acquire(t, edited, scope.CallContext{})
	defer next.Release()
	if got := whoami(t, next).PID; got == before {
		t.Error("a new call went to the old definition's process")
	}
	if l, ok := r.Running(same, "global", ""); !ok || l.Instance() != kept.Instance() {
		t.Error("an unchanged definition lost its process")
	} else {
		l.Release()
	}
	running.Release()
	<-running.Mux().Done()
}

func TestCloseStopsAllAndStartsNothingMore(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Global)
	l := r.acquire(t, s, scope.CallContext{})
	lines, _ := r.Subscribe("")
	r.stop(t)
	<-l.Mux().Done()
	if _, open := <-lines; open {
		t.Error("a follower of the logs is left waiting")
	}
	if _, err := r.Acquire(t.Context(), s, scope.CallContext{}); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("Acquire: got %v, want %v", err, pool.ErrClosed)
	}
	if _, err := r.Acquire(t.Context(), fakeServer(t, "late", scope.Global), scope.CallContext{}); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("Acquire of one not seen before: got %v, want %v", err, pool.ErrClosed)
	}
	l.Release()
}

func TestLimitsAreTheSmallestAmongLiveViews(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	tests := []struct {
		name  string
		views []bounds
		want  bounds
	}{
		{"one view", []bounds{{4, minutes(5)}}, bounds{4, minutes(5)}},
		{"each from another view", []bounds{{4, minutes(1)}, {2, minutes(5)}}, bounds{2, minutes(1)}},
		{"never is longer than anything", []bounds{{4, 0}, {4, minutes(5)}}, bounds{4, minutes(5)}},
		{"never everywhere", []bounds{{4, 0}, {4, 0}}, bounds{4, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got bounds
			for _, v := range tt.views {
				got = got.narrower(v.max, v.idle)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(bounds{})); diff != "" {
				t.Errorf("bounds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsOfViewsReachThePool(t *testing.T) {
	r := newRig(t, "", nil)
	s := fakeServer(t, "fake", scope.Cwd)
	for i := range 2 {
		r.acquire(t, s, scope.CallContext{Cwd: dir(t, fmt.Sprint(i))}).Release()
	}
	narrow := fakeServer(t, "fake", scope.Cwd)
	narrow.Max = 1
	first := r.Snapshot()[0]
	r.Keep([]*config.Resolved{s, narrow})
	r.Restart(t.Context(), "fake", first.Key) // waits for its end, if it is still to come
	if got := r.Snapshot(); len(got) > 1 {
		t.Errorf("with max 1 in one of two views: got %d instances", len(got))
	}
}
