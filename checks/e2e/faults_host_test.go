package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// Lines of a host.
const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n"
	withRoots   = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"raw","version":"1"}}}` + "\n"
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
)

// uses is a tools/call as a line.
func uses(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
}

func echoes(id string) string { return uses(id, "echo", `{"text":"`+greeting+`"}`) }

// greets shakes hands.
func greets(h *rig.Raw) {
	h.T.Helper()
	h.Write(initialize)
	h.Answer(`"init"`)
	h.Write(initialized)
}

// served makes a good call and compares its answer.
func served(h *rig.Raw, id string) {
	h.T.Helper()
	h.Write(echoes(id))
	answered(h, id)
}

func answered(h *rig.Raw, id string) {
	h.T.Helper()
	if m := h.Answer(id); rig.Text(m) != greeting {
		h.T.Errorf("a good call was answered %.300s", m.Line)
	}
}

// failed reads the error for an id.
func failed(h *rig.Raw, id string, code int) {
	h.T.Helper()
	if m := h.Answer(id); m.Error == nil || m.Error.Code != code {
		h.T.Errorf("%s was answered %.300s, want error %d", id, m.Line, code)
	}
}

// hosts are faults of a host, each on a connection of its own. The connection is
// ended after them, if they did not end it.
var hosts = []struct {
	name string
	does func(r *rig.Rig, h *rig.Raw, other *rig.Host)
}{
	{"reading nothing while much is answered", func(r *rig.Rig, h *rig.Raw, other *rig.Host) {
		greets(h)
		if late := slowly(r, h, other, 5); late > 0 { // 20 MiB
			h.T.Errorf("%d answers did not arrive", late)
		}
		if late := slowly(r, h, other, 18); late > 6 { // 72 MiB, of which 64 may wait
			h.T.Errorf("%d answers did not arrive", late)
		}
		served(h, "77")
	}},
	{"half lines", func(r *rig.Rig, h *rig.Raw, other *rig.Host) {
		greets(h)
		line := echoes("1")
		for _, cut := range []int{1, len(line) / 2, len(line) - 1} {
			h.Write(line[:cut])
			other.Call("echo", nil)
			h.Write(line[cut:])
			answered(h, "1")
		}
	}},
	{"garbage before the handshake", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write("\x00\xff{\n\n[]\n\"x\"\n")
		greets(h)
		served(h, "1")
	}},
	{"a BOM, and CRLF", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write("\ufeff" + initialize)
		h.Answer("null") // it is no JSON, and is answered as such
		h.Write(strings.ReplaceAll(initialize+initialized, "\n", "\r\n"))
		h.Answer(`"init"`)
		h.Write(strings.ReplaceAll("\n"+echoes("1"), "\n", "\r\n"))
		answered(h, "1")
	}},
	{"bytes that are no text", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		h.Write(uses("1", "echo", "{\"text\":\"\xff\xfe\"}"))
		failed(h, "1", -32700)
		h.Write(uses("2", "echo", "{\"text\":\"\x00\"}"))
		failed(h, "2", -32700)
		served(h, "3")
	}},
	{"a line over the cap", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		h.Write(uses("1", "echo", `{"text":"`+strings.Repeat("x", 65<<20)+`"}`))
		failed(h, "1", -32600)
		served(h, "2")
	}},
	{"silence", func(_ *rig.Rig, _ *rig.Raw, other *rig.Host) { other.Call("echo", nil) }},
	{"a handshake, and silence", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) { greets(h) }},
	{"no initialized", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write(initialize)
		h.Answer(`"init"`)
		served(h, "1")
	}},
	{"roots that are an error", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write(withRoots)
		h.Answer(`"init"`)
		h.Write(initialized)
		h.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`+"\n", question(h, "roots/list")))
		h.Write(echoes("1"))
		for {
			m := h.Next()
			if string(m.ID) == "1" && m.Method == "" {
				break
			}
			if m.Method == "roots/list" {
				h.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":7}}`+"\n", m.ID))
			}
		}
	}},
	{"roots that never come", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write(withRoots)
		h.Answer(`"init"`)
		h.Write(initialized)
		served(h, "1")
	}},
	{"an id twice", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		h.Write(uses("1", "sleep", `{"ms":300}`) + echoes("1"))
		failed(h, "1", -32600)
		if m := h.Answer("1"); rig.Text(m) != "slept" {
			h.T.Errorf("the first was answered %s", m.Line)
		}
		served(h, "1")
	}},
	{"a call before the handshake", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write(echoes("1"))
		h.Answer("1")
		greets(h)
		served(h, "2")
	}},
	{"two handshakes", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		h.Write(initialize + initialize)
		first, second := h.Answer(`"init"`), h.Answer(`"init"`)
		if string(first.Result) != string(second.Result) {
			h.T.Errorf("two handshakes were answered\n%s%s", first.Line, second.Line)
		}
		h.Write(initialized + initialized)
		greets(h)
		served(h, "1")
	}},
	{"answers to nothing", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		h.Write(`{"jsonrpc":"2.0","id":"mcpx-1","result":{}}` + "\n" + `{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":null,"result":{}}` + "\n")
		served(h, "1")
	}},
	{"cancelling what is not there, is over, or waits", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		served(h, "1")
		h.Write(cancels("1") + cancels("77") + cancels(`{}`) + `{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n")
		h.Write(uses("2", "sleep", `{"ms":60000}`) + uses("3", "sleep", `{"ms":60000}`) + cancels("3") + cancels("2") + cancels("2"))
		served(h, "2")
	}},
	{"a flood of notifications", func(r *rig.Rig, h *rig.Raw, other *rig.Host) {
		greets(h)
		h.Write(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/vendor","params":{"x":1}}`+"\n", 20_000))
		other.Call("echo", nil)
		h.Write(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`+"\n", 20_000))
		other.Call("echo", nil)
		h.Write(strings.Repeat(initialized, 20_000))
		served(h, "1")
	}},
	{"the end of its input in a call", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		h.Write(uses("1", "sleep", `{"ms":300}`))
		h.CloseIn()
		if m := h.Answer("1"); rig.Text(m) != "slept" {
			h.T.Errorf("the call was answered %s", m.Line)
		}
	}},
	{"the end of its input in a line", func(_ *rig.Rig, h *rig.Raw, _ *rig.Host) {
		greets(h)
		h.Write(`{"jsonrpc":"2.0","id":1,"meth`)
		h.CloseIn()
	}},
	{"a closed stdout, in a call", func(r *rig.Rig, h *rig.Raw, other *rig.Host) {
		greets(h)
		h.Write(uses("1", "sleep", `{"ms":60000}`))
		leased(r, "one", 1)
		h.CloseOut()
	}},
}

// leased waits until so many calls are at a server.
func leased(r *rig.Rig, server string, n int) {
	r.T.Helper()
	r.Until("the calls are at the server", func(s api.Status) bool { return rig.Of(s, server)[0].Leases == n })
}

// slowly calls for n answers of 4 MiB each, reads when the server has given all it
// was asked for, and returns how many came as errors.
func slowly(r *rig.Rig, h *rig.Raw, other *rig.Host, n int) (late int) {
	r.T.Helper()
	left := map[string]bool{}
	for i := range n {
		left[fmt.Sprint(i)] = true
		h.Write(uses(fmt.Sprint(i), "big", `{"mib":4}`))
	}
	for began, free := time.Now(), 0; free < 10; { // the server is there for whoever asks
		other.Call("echo", nil)
		if free++; r.Instances("one")[0].Leases > 0 {
			free = 0
		}
		if time.Since(began) > rig.Wait {
			r.T.Fatal("the server waits for a host that does not read")
		}
	}
	for len(left) > 0 {
		m := h.Next()
		switch {
		case m.Method != "":
			continue
		case m.Error != nil && strings.Contains(m.Error.Message, "the host reads too slowly"):
			late++
		case len(m.Line) < 4<<20:
			r.T.Fatalf("got %.300s", m.Line)
		}
		if !left[string(m.ID)] {
			r.T.Fatalf("%s was answered twice", m.ID)
		}
		delete(left, string(m.ID))
	}
	return late
}

// question reads up to a request of the daemon's and returns its id.
func question(h *rig.Raw, method string) string {
	h.T.Helper()
	for {
		if m := h.Next(); m.Method == method && m.ID != nil {
			return string(m.ID)
		}
	}
}

func cancels(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + "}}\n"
}

// TestEachFaultOfAHostCostsOnlyItself lets a host misbehave beside another at
// the same server, and looks at what it leaves behind: nothing.
func TestEachFaultOfAHostCostsOnlyItself(t *testing.T) {
	r := rig.New(t, mcpx, config(map[string]string{"one": `"args": []`}))
	other := open(r, r.Home, "one", "--session", "other")
	first := whoami(t, other)
	r.Listed("one")
	base := descriptors(r)
	for _, tt := range hosts {
		t.Run(tt.name, func(t *testing.T) {
			own := *r
			own.T = t
			h := own.Raw("one", "--session", "faulty")
			tt.does(&own, h, other)
			h.CloseIn()
			h.CloseOut()
			nothingLeft(&own, base)
			if got := whoami(t, other); got.PID != first.PID {
				t.Errorf("the other session was process %d's and is %d's", first.PID, got.PID)
			}
			if len(other.Notes) > 0 {
				t.Errorf("the other session got %s", (<-other.Notes).Line)
			}
		})
	}
}

// nothingLeft waits until one session is there that has nothing in flight, and
// the daemon holds no more than it did.
func nothingLeft(r *rig.Rig, base int) {
	r.T.Helper()
	open := 0
	r.Until("nothing of the faulty session is left", func(s api.Status) bool {
		open = opened(s.Daemon.PID)
		return len(s.Sessions) == 1 && s.Sessions[0].ID == "other" && open <= base &&
			!slices.ContainsFunc(s.Instances, func(in instance) bool { return in.Leases > 0 || in.Sessions > 1 })
	})
}
