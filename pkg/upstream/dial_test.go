package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/google/go-cmp/cmp"
)

const (
	modernAnswer   = `{"jsonrpc":"2.0","id":$ID,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`
	legacyAnswer   = `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	unknownMethod  = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no such method"}}`
	unknownMembers = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"unknown members"}}`
	onlyModern     = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`
	noID           = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}`
	legacyStart    = "initialize notifications/initialized"
)

func TestDialFindsTheEra(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		kind  string
		args  []string
		root  bool
		brief bool // the probe is given up on soon
		era   Era
		saw   string
	}{
		{"an error means legacy, in the same process", "fake", []string{"-discover", "error"}, false, false, Legacy,
			"start server/discover " + legacyStart},
		{"error code 0 is an error like any other", "fake", []string{"-discover", "zero"}, false, false, Legacy,
			"start server/discover " + legacyStart},
		{"a modern result means modern, and no initialize", "fake", []string{"-discover", "modern"}, false, false, Modern,
			"start server/discover"},
		{"a server that exits is started again without the probe", "fake", []string{"-discover", "exit"}, false, false, Legacy,
			"start server/discover start " + legacyStart},
		{"a silent server is replaced", "fake", []string{"-discover", "silent"}, false, true, Legacy,
			"start server/discover start " + legacyStart},
		{"a modern-only server", "fake", []string{"-modern-only"}, false, false, Modern, "start server/discover"},
		{"a banner before the answer is skipped", "fake", []string{"-banner"}, false, false, Legacy,
			"start server/discover " + legacyStart},
		{"garbage between the answers is skipped", "fake", []string{"-garbage", "-discover", "modern"}, false, false, Modern,
			"start server/discover"},
		{"batches, blank lines and bytes in pieces are read", "fake", []string{"-batch", "-blank", "-split"}, false, false, Legacy,
			"start server/discover " + legacyStart},
		{"ids that come back as strings", "fake", []string{"-string-id"}, false, false, Legacy,
			"start server/discover " + legacyStart},
		{"an error without an id is no answer to trust", "script",
			[]string{"1:server/discover=" + noID, "initialize=" + legacyAnswer}, false, false, Legacy,
			"start server/discover start " + legacyStart},
		{"a result without versions is no modern answer", "script",
			[]string{`server/discover={"jsonrpc":"2.0","id":$ID,"result":{}}`, "initialize=" + legacyAnswer}, false, false, Legacy,
			"start server/discover start " + legacyStart},
		{"a slow modern server is found out by its answer to initialize", "script",
			[]string{"1:server/discover=", "server/discover=" + modernAnswer, "initialize=" + onlyModern}, false, true, Modern,
			"start server/discover start initialize start server/discover"},
		{"a server that only has no initialize is modern, too", "script",
			[]string{"1:server/discover=", "server/discover=" + modernAnswer, "initialize=" + unknownMethod}, false, true, Modern,
			"start server/discover start initialize start server/discover"},
		{"a probe that poisoned the process costs one start", "script",
			[]string{"server/discover=" + unknownMethod, "1:initialize=exit", "initialize=" + legacyAnswer}, false, false, Legacy,
			"start server/discover initialize start " + legacyStart},
		{"a strict server is asked again without the workspace", "fake", []string{"-strict-initialize"}, true, false, Legacy,
			"start server/discover initialize " + legacyStart},
		{"a server strict about capabilities", "fake", []string{"-strict-capabilities"}, true, false, Legacy,
			"start server/discover initialize " + legacyStart},
		{"a strict server that exits is started again without the workspace", "script",
			[]string{"server/discover=exit", "initialize+workspace=exit", "initialize=" + legacyAnswer}, true, false, Legacy,
			"start server/discover start initialize start " + legacyStart},
		{"a strict server whose refusal has no id is started again", "script",
			[]string{"server/discover=" + unknownMethod, "initialize+workspace=" + noID, "initialize=" + legacyAnswer}, true, false, Legacy,
			"start server/discover initialize start " + legacyStart},
		{"a strict modern server", "script",
			[]string{"server/discover+workspace=" + unknownMembers, "server/discover=" + modernAnswer, "initialize=" + onlyModern}, true, false, Modern,
			"start server/discover initialize start server/discover server/discover"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, tt.kind, tt.args...)
			if tt.root {
				s.atRoot(t.TempDir())
			}
			if tt.brief {
				s.options.ProbeTimeout = 300 * time.Millisecond
			}
			c, err := s.dial(t)
			if err != nil {
				t.Fatal(err)
			}
			s.settle(t, c, tt.saw)
			if got := c.Handshake().Era; got != tt.era {
				t.Errorf("era: got %s, want %s", got, tt.era)
			}
		})
	}
}

// settle stops the server, so that it has read all it was sent, and compares.
func (s *server) settle(t *testing.T, c *Conn, want string) {
	t.Helper()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.saw(t)); diff != "" {
		t.Errorf("the server saw (-want +got):\n%s", diff)
	}
}

func TestDialWithASiblingKnownAsLegacy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		era  Era
		saw  string
	}{
		{"initialize is written behind a silent probe", []string{"initialize=" + legacyAnswer}, Legacy,
			"start server/discover " + legacyStart},
		{"a late refusal of the probe is dropped",
			[]string{"initialize=" + strings.ReplaceAll(unknownMethod, "$ID", `"mcpx-probe"`) + "\n" + legacyAnswer}, Legacy,
			"start server/discover " + legacyStart},
		{"a modern result that still comes starts it again as modern",
			[]string{"2:server/discover=" + modernAnswer,
				"initialize=" + strings.ReplaceAll(modernAnswer, "$ID", `"mcpx-probe"`) + "\n" + legacyAnswer}, Modern,
			"start server/discover initialize start server/discover"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "script", tt.args...)
			s.options.SiblingLegacy = true
			began := time.Now()
			c, err := s.dial(t)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > defaultProbe/2 {
				t.Errorf("it took %v", took)
			}
			s.settle(t, c, tt.saw)
			if got := c.Handshake().Era; got != tt.era {
				t.Errorf("era: got %s, want %s", got, tt.era)
			}
		})
	}
}

func TestDialRemembersVerdicts(t *testing.T) {
	old := time.Now().Add(-verdictLife - time.Hour)
	fresh := time.Now().Add(-time.Hour)
	tests := []struct {
		name   string
		args   []string
		root   bool
		before Verdict
		saw    string
		want   Verdict // Checked is only compared with before's
		again  bool    // the era was asked for again
	}{
		{"a known legacy server is not probed", []string{"-discover", "exit"}, false, Verdict{Era: Legacy, Checked: fresh},
			"start " + legacyStart, Verdict{Era: Legacy}, false},
		{"after a week it is", nil, false, Verdict{Era: Legacy, Checked: old},
			"start server/discover " + legacyStart, Verdict{Era: Legacy}, true},
		{"so that an upgraded one is noticed", []string{"-discover", "modern"}, false, Verdict{Era: Legacy, Checked: old},
			"start server/discover", Verdict{Era: Modern}, true},
		{"a known legacy server that became modern-only is asked again", []string{"-modern-only"}, false, Verdict{Era: Legacy, Checked: fresh},
			"start initialize start server/discover", Verdict{Era: Modern}, true},
		{"strictness is learnt once", []string{"-strict-initialize"}, true, Verdict{Era: Legacy, Checked: fresh},
			"start initialize " + legacyStart, Verdict{Era: Legacy, Plain: true}, false},
		{"and then known", []string{"-strict-initialize"}, true, Verdict{Era: Legacy, Plain: true, Checked: fresh},
			"start " + legacyStart, Verdict{Era: Legacy, Plain: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "fake", tt.args...)
			if tt.root {
				s.atRoot(t.TempDir())
			}
			known := &eras{}
			known.SetEra(s.plan.Identity(), tt.before)
			s.options.Eras = known
			c, err := s.dial(t)
			if err != nil {
				t.Fatal(err)
			}
			s.settle(t, c, tt.saw)
			got, _ := known.Era(s.plan.Identity())
			if again := !got.Checked.Equal(tt.before.Checked); again != tt.again {
				t.Errorf("checked again: got %v, want %v", again, tt.again)
			}
			got.Checked = time.Time{}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDialForgetsAModernVerdictThatFails(t *testing.T) {
	s := newServer(t, "fake", "-discover", "exit")
	known := &eras{}
	known.SetEra(s.plan.Identity(), Verdict{Era: Modern, Checked: time.Now()})
	s.options.Eras = known
	_, err := s.dial(t)
	const want = `server "srv": ended before it answered server/discover: exit status 4`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if v, _ := known.Era(s.plan.Identity()); v != (Verdict{}) {
		t.Errorf("the verdict is still %+v", v)
	}
	if c, err := s.dial(t); err != nil || c.Handshake().Era != Legacy {
		t.Errorf("the next start: got %v, want a legacy server", err)
	}
}

// TestAnotherProgramBehindTheSameCommand swaps what a command means between
// starts, both ways: what is remembered of it gives way to what it answers.
func TestAnotherProgramBehindTheSameCommand(t *testing.T) {
	s := newServer(t, "fake")
	program := filepath.Join(t.TempDir(), "server")
	self, args := s.plan.Command, s.plan.Args
	s.plan.Command, s.plan.Args = program, nil
	known := &eras{}
	s.options.Eras = known
	for _, tt := range []struct {
		flags string
		want  Era
		saw   string // by this process, and the ones it took
	}{
		{"-modern-only", Modern, "start server/discover"},
		{"", Legacy, "start server/discover " + legacyStart},
		{"", Legacy, "start " + legacyStart},
		{"-modern-only", Modern, "start initialize start server/discover"},
		{"-modern-only", Modern, "start server/discover"},
		{"-discover error", Legacy, "start server/discover " + legacyStart},
	} {
		script := fmt.Sprintf("#!/bin/sh\nexec %q %q %q %q %q %s\n", self, args[0], args[1], args[2], args[3], tt.flags)
		if err := os.WriteFile(program+".new", []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(program+".new", program); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(s.log) // of the program before
		c, err := s.dial(t)
		if err != nil {
			t.Fatalf("%q: %v", tt.flags, err)
		}
		if got := c.Handshake().Era; got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.flags, got, tt.want)
		}
		s.settle(t, c, tt.saw)
		if v, _ := known.Era(s.plan.Identity()); v.Era != tt.want {
			t.Errorf("%q: remembered as %s, want %s", tt.flags, v.Era, tt.want)
		}
	}
}

func TestDialFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		args     []string
		protocol config.Protocol
		timeout  time.Duration
		starts   int
		want     string
		hint     string
	}{
		{"a crash at start tells exit status and last words", []string{"-crash-start"}, config.Auto, 0, 2,
			`server "srv": ended before it answered initialize: exit status 3; its last words: "fakemcp: cannot start: no such luck"`, runByHand},
		{"a refusal tells the server's reason", []string{"-init-error"}, config.Auto, 0, 1,
			`server "srv": initialize: refused with error -32603: initialize failed: no licence`, ""},
		{"a server that hangs is timed out in the phase it hangs in", []string{"-hang-init"}, config.Auto, time.Second, 1,
			`server "srv": initialize timed out after 1s`, `raise "startTimeout" if it is only slow`},
		{"a version from the future is unknown", []string{"-protocol", "2099-01-01"}, config.Auto, 0, 1,
			`server "srv": answered initialize with the unknown protocol version "2099-01-01"`, "mcpx speaks 2024-11-05 to 2026-07-28"},
		{"a pinned legacy era does not flip", []string{"-modern-only"}, config.Legacy, 0, 1,
			`server "srv": initialize: refused with error -32601: Method not found`, `set "protocol": "auto": it may speak 2026-07-28`},
		{"a pinned modern era does not fall back", []string{"-discover", "exit"}, config.Modern, 0, 1,
			`server "srv": ended before it answered server/discover: exit status 4`, runByHand},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "fake", tt.args...)
			s.plan.Protocol = tt.protocol
			s.options.StartTimeout = tt.timeout
			_, err := s.dial(t)
			f, ok := errors.AsType[*Failure](err)
			if !ok {
				t.Fatalf("got %v, want a *Failure", err)
			}
			if diff := cmp.Diff([]string{tt.want, tt.hint}, []string{f.Error(), f.Hint()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if starts := strings.Count(s.saw(t), "start"); starts != tt.starts {
				t.Errorf("got %d starts, want %d", starts, tt.starts)
			}
		})
	}
}

// A refusal that quotes a secret does not make it known (threat T28).
func TestDialFailuresShowNoSecret(t *testing.T) {
	s := newServer(t, "fake", "-init-error")
	s.plan.Env["LICENCE_KEY_SECRET"] = "no licence"
	_, err := s.dial(t)
	const want = `server "srv": initialize: refused with error -32603: initialize failed: •••`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDialStartsThriceAtMost(t *testing.T) {
	s := newServer(t, "script", "server/discover=exit", "initialize=exit").atRoot(t.TempDir())
	if _, err := s.dial(t); err == nil {
		t.Fatal("got no error")
	}
	if diff := cmp.Diff("start server/discover start initialize start initialize", s.saw(t)); diff != "" {
		t.Errorf("the server saw (-want +got):\n%s", diff)
	}
}

func TestDialKnowsOldRevisions(t *testing.T) {
	for _, v := range []string{"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "fake", "-protocol", v)
			c, err := s.dial(t)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Handshake().ProtocolVersion; got != v {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestDialReportsAMissingProgramAsItIs(t *testing.T) {
	s := newServer(t, "fake")
	s.plan.Command = "no-such-program-for-mcpx"
	_, err := s.dial(t)
	if _, ok := errors.AsType[config.Problem](err); !ok {
		t.Errorf("got %v, want a problem of the config", err)
	}
}

func TestDialLeavesNoProcess(t *testing.T) {
	t.Parallel()
	s := newServer(t, "fake", "-hang-init", "-ignore-eof")
	s.options.StartTimeout = 500 * time.Millisecond
	if _, err := s.dial(t); err == nil {
		t.Fatal("got no error")
	}
	data, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ PID int }
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&event); err != nil || event.PID == 0 {
		t.Fatalf("no pid in %s", data)
	}
	if err := syscall.Kill(event.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: got %v, want none", event.PID, err)
	}
}
