package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/checks/fakemcp/fake"
	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// fault is what one call meets, and what is true afterwards. In flags and text
// $T is a directory of the test's own.
type fault struct {
	flags string // of the server
	block string // its mcpx block
	tool  string // the tool that meets the fault; "" = echo
	args  string // JSON
	err   string // in the answer: a part of the error, or of the result
	exit  string // with the error, as are the last words
	words string
	text  string // in the result
	hangs bool   // the call takes as long as it may: others are served meanwhile
	races bool   // the fault may strike before the call, which then goes well

	next   next
	status func(instance) bool // in the end, as long as the process is there
}

// next is how the call after the faulty one goes.
type next string

const (
	same    next = ""        // the same process answers it
	another next = "another" // another process does
	late    next = "late"    // another does, when the wait is over
	restart next = "restart" // another does, after mcpx restart
	never   next = "never"   // the fault is not one call's
)

func noisy(in instance) bool {
	return in.State == "connected" && in.Noise > 0 && len(in.NoiseLines) > 0
}
func dropping(in instance) bool { return in.State == "connected" && in.Dropped > 0 }
func listless(in instance) bool { return in.State == "list-failed" && in.Reason != "" }
func with(tools int) func(instance) bool {
	return func(in instance) bool { return in.State == "connected" && in.Tools == tools }
}

const (
	brief = `"startTimeout": "2s"`
	short = `"callTimeout": "1500ms"`
	once  = " -faulty 1 -state $T/state"
	twice = " -faulty 2 -state $T/state" // one start probes, the next does not
)

var faults = []fault{
	{flags: "-log $T/log -record $T/record -name odd"},

	// Starting.
	{flags: "-crash-start" + twice, err: "ended before it answered initialize", exit: "exit status 3", words: "fakemcp: cannot start: no such luck", next: late},
	{flags: "-exit 7" + twice, err: "ended before it answered initialize", exit: "exit status 7", next: late},
	{flags: "-crash-times 1 -state $T/state"},
	{flags: "-start-delay 300ms"},
	{flags: "-lockfile $T/lock", next: never, err: "ended before it answered", exit: "exit status 5", words: "$T/lock is in use by another server", block: `"scope": "session"`},
	{flags: "-hang-init" + once, block: `"startTimeout": "1s", "protocol": "legacy"`, err: "initialize timed out after 1s", hangs: true, next: late},
	{flags: "-init-delay 300ms"},
	{flags: "-init-error" + once, err: "initialize: refused with error -32603: initialize failed: no licence", next: late},
	{flags: "-strict-initialize"},
	{flags: "-strict-capabilities"},
	{flags: "-discover -32000"},
	{flags: "-discover zero"},
	{flags: "-discover silent", block: brief},
	{flags: "-discover exit"},
	{flags: "-discover modern"},
	{flags: "-modern-only"},
	{flags: "-protocol 2099-01-01" + once, err: `answered initialize with the unknown protocol version "2099-01-01"`, next: late},

	// Talking.
	{flags: "-garbage", status: noisy},
	{flags: "-banner", status: noisy},
	{flags: "-blank"},
	{flags: "-split"},
	{flags: "-byte-by-byte"},
	{flags: "-nonl" + once, text: "héllo 😀", next: another},
	{flags: "-batch"},
	{flags: "-pretty" + once, block: `"startTimeout": "1s", "protocol": "legacy"`, err: "initialize timed out after 1s", hangs: true, next: late},
	{flags: "-early"},
	{flags: "-stderr-flood 2"},
	{flags: "-stderr-each 128"},
	{flags: "-double", status: dropping},
	{flags: "-wrong-id -first-calls 1", block: short, err: "call timed out after 1.5s", hangs: true, status: dropping},
	{flags: "-null-result -first-calls 1", text: "null"},
	{flags: "-string-id"},
	{flags: "-bad-line -first-calls 1", err: `the server's answer is not valid: more than one "result"`, status: noisy},
	{flags: "-endless-line" + once, err: "over the limit of 67108864", next: another},
	{flags: "-name big", tool: "big", args: `{"mib": 65}`, err: "over the limit of 67108864"},
	{flags: "-reuse-ids", tool: "roots", text: "-32601"},
	{flags: "-progress-late", status: dropping},
	{flags: "-ask sampling/createMessage -ask-cancel 1m", tool: "ask", text: "-32601"},
	{flags: "-storm notifications/progress", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true, status: dropping},
	{flags: "-storm notifications/message", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true, status: dropping},
	{flags: "-storm notifications/tools/list_changed", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true},
	{flags: "-storm notifications/unknown", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true},
	{flags: "-storm notifications/cancelled", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true},
	{flags: "-storm ping", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true},
	{flags: "-storm vendor/question", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true},
	{flags: "-storm sampling/createMessage", tool: "storm", args: `{"ms": 1000}`, text: "stormed", hangs: true},

	// Listing.
	{flags: "-list-storm 5000"},
	{flags: "-page-size 2", status: with(13)},
	{flags: "-endless-pages", status: listless},
	{flags: "-many-tools 1000000", status: listless},
	{flags: "-many-tools 1000000 -page-size 5000", status: listless},
	{flags: "-prompts-only", err: "Method not found", next: never, status: with(0)},
	{flags: "-tools $T/tools", status: with(1)},
	{flags: "-change-tools", status: with(14)},
	{flags: "-bad-schema", status: with(14)},
	{flags: "-dirs $T -roots-replace", block: `"scope": "cwd"`, tool: "dirs", text: "$T", status: with(14)},
	{flags: "-stateful", tool: "get", args: `{"key": "none"}`, status: with(15)},

	// Living.
	{flags: "-die-on-call" + once, err: "exited", exit: "exit status 9", next: another},
	{flags: "-die-after 1" + once, err: "exited", exit: "exit status 9", next: another},
	{flags: "-die-on-call -half-line" + once, err: "exited", exit: "exit status 9", next: another},
	{flags: "-name mortal", tool: "die", err: "exited", exit: "exit status 9", words: "fakemcp: told to die", next: another},
	{flags: "-hang-call -first-calls 1", block: short, err: "call timed out after 1.5s", hangs: true},
	{flags: "-ignore-eof", next: restart},
	{flags: "-ignore-eof -ignore-term", next: restart},
	{flags: "-close-stdout -ignore-eof" + once, err: "closed its stdout", races: true, next: another},
	{flags: "-stop-reading" + once, block: short, err: "call timed out after 1.5s", hangs: true, next: restart},
	{flags: "-slow-read"},
	{flags: "-child", next: restart},
	{flags: "-child-setsid", next: restart},
	{flags: "-wrap", next: restart},
}

// TestEachFaultOfAServerCostsOnlyItsCall lets one session meet each fault while
// another one calls another server.
func TestEachFaultOfAServerCostsOnlyItsCall(t *testing.T) {
	servers := map[string]string{"good": `"args": []`}
	dirs := make([]string, len(faults))
	for i, f := range faults {
		dirs[i] = t.TempDir()
		servers[name(i)] = fmt.Sprintf(`"args": ["%s"], "mcpx": {%s}`, strings.Join(strings.Fields(in(dirs[i], f.flags)), `", "`), f.block)
	}
	r := rig.New(t, mcpx, strings.Replace(config(servers), `{"mcpServers"`, `{"daemon": {"stopGrace": "200ms", "maxInstances": 200}, "mcpServers"`, 1))
	r.Mcpx("check")
	good := open(r, r.Home, "good", "--session", "good")
	first := whoami(t, good)
	t.Run("all", func(t *testing.T) {
		for i, f := range faults {
			t.Run(f.flags+" "+f.tool, func(t *testing.T) {
				t.Parallel()
				own := *r
				own.T = t
				own.Write(filepath.Join(dirs[i], "tools"), `[{"name": "echo"}]`)
				f.meet(&own, name(i), dirs[i])
			})
		}
	})
	if now := whoami(t, good); now.PID != first.PID {
		t.Errorf("the good server was process %d and is %d", first.PID, now.PID)
	}
	r.Until("nothing is leased, and no noise was made of the good one", func(s api.Status) bool {
		return !slices.ContainsFunc(s.Instances, func(in instance) bool {
			return in.Leases > 0 || in.Server == "good" && in.Noise+in.Dropped+in.Errors > 0
		})
	})
}

func name(i int) string { return fmt.Sprintf("bad%02d", i) }

// in fills in the directory.
func in(dir, text string) string { return strings.ReplaceAll(text, "$T", dir) }

func TestTheTableHasEveryFault(t *testing.T) {
	used := map[string]bool{}
	for _, f := range faults {
		for word := range strings.FieldsSeq(f.flags) {
			used[strings.TrimPrefix(word, "-")] = true
		}
	}
	for _, s := range fake.Switches() {
		if !used[s] {
			t.Errorf("no fault of the table uses -%s", s)
		}
	}
}
