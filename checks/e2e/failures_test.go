package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

func TestAKilledServerFailsItsCallAndIsStartedAgain(t *testing.T) { // design §6, report F1
	r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"srv": {"command": "/bin/sh", "args": ["-c", "echo index loaded >&2; exec %s"]}}}`, fakemcp))
	h := open(r, r.Home, "srv")
	first := whoami(t, h)
	call := start(h, "slow", 60_000)
	began := time.Now()
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m := h.Await(call, "a call at a killed server")
	if took := time.Since(began); took > time.Second {
		t.Errorf("the call failed after %v, want within a second", took)
	}
	if m.Error == nil {
		t.Fatalf("the call was answered %s", m.Line)
	}
	if want := `server "srv": exited: signal: killed; its last words: "index loaded"`; m.Error.Message != want {
		t.Errorf("the call failed with %q, want %q", m.Error.Message, want)
	}
	var data struct {
		Mcpx struct {
			Server, Exit string
			Stderr       []string
		}
	}
	if err := json.Unmarshal(m.Error.Data, &data); err != nil || data.Mcpx.Server != "srv" || data.Mcpx.Exit != "signal: killed" || len(data.Mcpx.Stderr) != 1 {
		t.Errorf("data: got %s, %v", m.Error.Data, err)
	}
	if second := whoami(t, h); second.PID == first.PID {
		t.Error("the next call was answered by the dead process")
	}
}

func TestAServerThatCannotStartBacksOffAndBlocksNobody(t *testing.T) { // report F3, F4
	log := filepath.Join(t.TempDir(), "log")
	r := rig.New(t, mcpx, config(map[string]string{
		"broken": fmt.Sprintf(`"args": ["-crash-start", "-log", %q]`, log),
		"hung":   `"args": ["-hang-init"]`,
		"good":   `"args": []`,
	}))
	hung := r.Connect(r.Home, "hung")
	hung.Send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}}`)
	h := open(r, r.Home, "broken")
	var wg sync.WaitGroup
	for range 10 {
		other := r.Connect(r.Home, "broken")
		wg.Go(func() {
			other.Open()
			if m := other.Ask("tools/call", map[string]any{"name": "echo"}); m.Error == nil || !strings.Contains(m.Error.Message, "no such luck") {
				t.Errorf("a server that cannot start answered %s", m.Line)
			}
		})
	}
	wg.Wait()
	in := r.Instances("broken")
	if len(in) != 1 || in[0].State != "backing-off" || !in[0].RetryAt.After(time.Now()) || !strings.Contains(in[0].LastError, "exit status 3") {
		t.Errorf("status: got %+v, want it backing off, with the reason and the time of the next try", in)
	}
	if got := starts(t, log); got > 2 {
		t.Errorf("%d starts within a second", got)
	}
	if e := refused(t, h, "echo"); !strings.Contains(e.Message, "retry in") {
		t.Errorf("the error does not say when to try again: %s", e.Message)
	}
	began := time.Now()
	open(r, r.Home, "good").Call("echo", nil)
	if took := time.Since(began); took > time.Second {
		t.Errorf("a good server beside two bad ones took %v", took)
	}
}

func TestExclusiveCallsGoOneByOneInOrder(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	r := rig.New(t, mcpx, config(map[string]string{"one": fmt.Sprintf(`"args": ["-record", %q], "mcpx": {"sharing": "exclusive"}`, record)}))
	h := open(r, r.Home, "one")
	h.Call("count", nil)
	first := start(h, "first", 100)
	var rest []<-chan rig.Message
	for i := range 4 {
		id := fmt.Sprint(9000 + i)
		rest = append(rest, h.Expect(id))
		h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%d"}}}`, id, i))
	}
	for i, answer := range rest {
		if m := h.Await(answer, "a call in the queue"); rig.Text(m) != fmt.Sprint(i) {
			t.Errorf("call %d was answered %s", i, m.Line)
		}
		if i == 0 && len(first) == 0 {
			t.Error("the second call was answered before the first")
		}
	}
	for i, line := range recorded(t, record, `"echo"`) {
		if !strings.Contains(string(line), fmt.Sprintf(`"text":"%d"`, i)) {
			t.Errorf("call %d reached the server as %s", i, line)
		}
	}
}

func TestCallScopeIsAProcessACall(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"each": scoped("call", "")}))
	h := open(r, r.Home, "each")
	a, b := whoami(t, h), whoami(t, h)
	if a.PID == b.PID {
		t.Error("two calls were answered by one process")
	}
	r.Until("the processes are gone", func(s api.Status) bool { return len(rig.Of(s, "each")) == 0 && s.Daemon.Children == 0 })
	for _, pid := range []int{a.PID, b.PID} {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d after its call: %v", pid, err)
		}
	}
}

func TestSessionScopeIsAProcessASession(t *testing.T) { // report E1
	r := rig.New(t, mcpx, config(map[string]string{"own": scoped("session", `"-stateful"`), "all": scoped("global", `"-stateful"`)}))
	for server, shared := range map[string]bool{"own": false, "all": true} {
		a, b := open(r, r.Home, server, "--session", "a"), open(r, r.Home, server, "--session", "b")
		a.Call("set", map[string]string{"key": "k", "value": "secret"})
		if got := b.Call("get", map[string]string{"key": "k"}); (got == "secret") != shared {
			t.Errorf("%s: the other session reads %q", server, got)
		}
		again := open(r, r.Home, server, "--session", "a")
		if got := again.Call("get", map[string]string{"key": "k"}); got != "secret" {
			t.Errorf("%s: another connection of the same session reads %q", server, got)
		}
	}
	if own, all := len(r.Instances("own")), len(r.Instances("all")); own != 2 || all != 1 {
		t.Errorf("%d and %d processes, want 2 for two sessions and 1 shared by them", own, all)
	}
}

func TestWhatDoesNotFitNamesTheLimit(t *testing.T) { // design D17
	r := rig.New(t, mcpx, config(map[string]string{"own": `"args": [], "mcpx": {"scope": "session", "max": 1}`}))
	open(r, r.Home, "own", "--session", "a").Call("echo", nil)
	e := refused(t, open(r, r.Home, "own", "--session", "b"), "echo")
	if want := `server "own": max 1: open sessions own every instance`; e.Message != want {
		t.Errorf("the call was answered %q, want %q", e.Message, want)
	}
	if !strings.Contains(string(e.Data), "hint") {
		t.Errorf("the error has no hint: %s", e.Data)
	}
}

func TestAnIdleInstanceIsReapedAndComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("the reaper looks every 5 s")
	}
	r := rig.New(t, mcpx, config(map[string]string{"idle": `"args": [], "mcpx": {"idleTimeout": "200ms"}`}))
	h := open(r, r.Home, "idle")
	first := whoami(t, h)
	r.Until("the idle instance is gone", func(s api.Status) bool { return len(rig.Of(s, "idle")) == 0 })
	if second := whoami(t, h); second.PID == first.PID {
		t.Error("the same process answered after it was reaped")
	}
}

func TestAHostThatIsKilledLeavesNothing(t *testing.T) { // report F7
	record := filepath.Join(t.TempDir(), "record")
	r := rig.New(t, mcpx, config(map[string]string{"one": fmt.Sprintf(`"args": ["-record", %q]`, record)}))
	h := open(r, r.Home, "one")
	start(h, "slow", 60_000)
	h.Kill()
	r.Until("the session is gone", func(s api.Status) bool {
		return len(s.Sessions) == 0 && len(s.Instances) == 1 && s.Instances[0].Leases == 0
	})
	open(r, r.Home, "one").Call("echo", nil) // comes behind what was told before
	if got := recorded(t, record, "notifications/cancelled"); len(got) != 1 {
		t.Errorf("the server was told %d times that the call is over, want once", len(got))
	}
}

// TestACallMeetsNoCorpse: a server answers and exits. What is asked right after
// goes to the next process, unless it was already on its way to this one: then
// it may have run, and is told how that one ended.
func TestACallMeetsNoCorpse(t *testing.T) {
	self, err1 := os.Executable()
	frames, err2 := filepath.Abs("../../pkg/wire/testdata/server.txtar")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		record := filepath.Join(t.TempDir(), "record")
		r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"brief": {"command": %q, "args": ["brief", %q, %q]}}}`,
			self, record, frames))
		h := r.Connect(r.Home, "brief")
		h.Open()
		for _, text := range []string{"first", "second"} {
			m := h.Ask("tools/call", map[string]any{"name": "mirror", "arguments": map[string]string{"mark": text}})
			met := text == "second" && m.Error != nil && strings.HasSuffix(m.Error.Message, "exited: exit status 0")
			if !met && !strings.Contains(string(m.Result), text) {
				t.Errorf("the %s call was answered %s", text, m.Line)
			}
		}
		h.Close()
	}
}

// TestADeathInTheMiddleOfAnAnswerIsADeath: half a line is no answer.
func TestADeathInTheMiddleOfAnAnswerIsADeath(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"half": `"args": ["-die-on-call", "-half-line"]`}))
	h := r.Connect(r.Home, "half")
	h.Open()
	m := h.Ask("tools/call", map[string]any{"name": "echo", "arguments": map[string]string{"text": "x"}})
	if m.Error == nil || !strings.Contains(m.Error.Message, "exit status 9") {
		t.Errorf("the call was answered %s, want the exit status", m.Line)
	}
}
