package session

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/visibility"
)

func TestIdentify(t *testing.T) { // design D2
	host := proc.Info{ID: proc.ID{PID: 40, Start: 99}, Argv: []string{"agent"}}
	shell := proc.Info{ID: proc.ID{PID: 41, Start: 100}, Argv: []string{"sh", "-c", "mcpx connect srv"}}
	all := map[string]string{"MCPX_SESSION_ID": "var", "CLAUDE_CODE_SESSION_ID": "claude", "MCPX_PARENT_SESSION_ID": "mother"}
	tests := []struct {
		name  string
		hello api.Hello
		chain []proc.Info
		want  Identity
	}{
		{"a flag is first", api.Hello{Flags: api.Flags{Session: "flag", Parent: "father"}, Env: all}, []proc.Info{host}, Identity{"flag", "father", host.ID}},
		{"then a variable", api.Hello{Env: all}, []proc.Info{host}, Identity{"var", "mother", host.ID}},
		{"then the host's own", api.Hello{Env: map[string]string{"CLAUDE_CODE_SESSION_ID": "claude"}}, []proc.Info{host}, Identity{"claude", "", host.ID}},
		{"then the host process, which is no shell that launched connect", api.Hello{}, []proc.Info{shell, host}, Identity{"host:40.99", "", host.ID}},
		{"an unknown host is nobody else", api.Hello{}, nil, Identity{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Identify(tt.hello, tt.chain)); diff != "" {
				t.Errorf("Identify (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostsThatAreNotKnownAreSessionsOfTheirOwn(t *testing.T) {
	a, b := conn(t, api.Hello{}, "1"), conn(t, api.Hello{}, "2")
	if a.who.Session == "" || a.who.Session == b.who.Session {
		t.Errorf("two unknown hosts are the sessions %q and %q", a.who.Session, b.who.Session)
	}
}

// conn is a connection that nobody speaks on.
func conn(t *testing.T, h api.Hello, callID string) *Conn {
	t.Helper()
	c := New(stdio.NewWriter(&fakeHost{}, 0), Options{Hello: h, CallID: func() string { return callID }})
	t.Cleanup(c.Close)
	return c
}

func TestJudge(t *testing.T) {
	srv := server(scope.Cwd)
	disabled := server(scope.Cwd)
	disabled.Disabled = true
	warned := view(srv)
	warned.Problems = config.Problems{{Server: "srv", Warning: true, Msg: "odd"}}
	tests := []struct {
		name string
		view *config.Config
		want verdict
	}{
		{"a server is for the session", view(srv), verdict{server: srv, def: srv.Definition()}},
		{"a warning changes nothing", warned, verdict{server: srv, def: srv.Definition()}},
		{"one that is disabled is not", view(disabled), verdict{state: "disabled", reason: "disabled", hint: `take "disabled" out of its mcpx block`}},
		{"nor one that only an untrusted file names", &config.Config{Untrusted: []config.Untrusted{{Name: "srv", File: "/p/.mcpx.json"}}},
			verdict{state: "untrusted", reason: "untrusted: only /p/.mcpx.json names it", hint: "read it, then: mcpx trust /p/.mcpx.json"}},
		{"nor one that is broken", &config.Config{Problems: config.Problems{{Server: "srv", Field: "command", Msg: "missing", Hint: "add it"}}},
			verdict{state: "invalid", reason: `server "srv": command: missing`, hint: "add it"}},
		{"nor one in no file, and the others are named", view(&config.Resolved{Name: "a"}, &config.Resolved{Name: "b"}),
			verdict{state: "unknown", reason: `no config file names a server "srv"`, hint: "the servers here are: a, b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, standing(t, tt.view, "{}").judge("srv"), cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("judge (-want +got):\n%s", diff)
			}
		})
	}
}

// standing is where a session is that has this view, under these rules.
func standing(t *testing.T, v *config.Config, rules string) *stand {
	st := &stand{view: v, dir: "/desk", common: common{rules: ruling(t, rules)}}
	st.decision = Decide(v, st.rules.Table, st.dir, visibility.Override{})
	return st
}

func TestOwnedBy(t *testing.T) {
	child := conn(t, api.Hello{Flags: api.Flags{Session: "s", Parent: "p"}}, "")
	child.who.Host = proc.ID{PID: 4, Start: 5}
	if diff := cmp.Diff([]string{"pid:4.5", "psession:p", "psession:s", "session:s"}, ownedBy(child)); diff != "" {
		t.Errorf("keys of a child (-want +got):\n%s", diff)
	}
	single := conn(t, api.Hello{Flags: api.Flags{Session: "s"}}, "")
	single.who.Host = proc.ID{PID: 4, Start: 5}
	if diff := cmp.Diff([]string{"pid:4.5", "psession:s", "session:s"}, ownedBy(single)); diff != "" {
		t.Errorf("keys of a session without a parent (-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) { // design D17
	var over, back []string
	table := NewTable(30*time.Second, func(keys []string, grace time.Duration) {
		if grace != 30*time.Second {
			t.Errorf("grace: got %v, want 30s", grace)
		}
		over = append(over, keys...)
	}, func(keys []string) { back = append(back, keys...) })
	ends := func(c *Conn, want ...string) {
		t.Helper()
		over = nil
		table.Remove(c)
		if diff := cmp.Diff(want, over); diff != "" {
			t.Errorf("keys that end (-want +got):\n%s", diff)
		}
	}
	of := func(session, parent string, pid int) *Conn {
		c := conn(t, api.Hello{Flags: api.Flags{Session: session, Parent: parent}}, "")
		c.who.Host = proc.ID{PID: pid, Start: 1}
		c.openedAt = time.Unix(int64(pid), 0)
		table.Add(c)
		return c
	}
	parent, first, second, kin := of("p", "", 1), of("a", "p", 2), of("a", "p", 3), of("b", "p", 4)

	if got := table.Owner("psession:p"); got != parent {
		t.Errorf("owner of the family's key: got session %q, want the parent, which is the oldest", got.who.Session)
	}
	if got := table.Owner("session:nobody"); got != nil {
		t.Errorf("owner of nobody's key: got session %q", got.who.Session)
	}
	if diff := cmp.Diff(4, len(table.All())); diff != "" {
		t.Errorf("open connections (-want +got):\n%s", diff)
	}
	ends(first, "pid:2.1") // the second connection owns the rest
	ends(second, "pid:3.1", "psession:a", "session:a")
	ends(parent, "pid:1.1", "session:p") // its children own what they share
	back = nil
	again := of("a", "p", 5)
	if diff := cmp.Diff([]string{"pid:5.1", "psession:a", "psession:p", "session:a"}, back); diff != "" {
		t.Errorf("keys that have an owner again (-want +got):\n%s", diff)
	}
	ends(again, "pid:5.1", "psession:a", "session:a")
	ends(kin, "pid:4.1", "psession:b", "psession:p", "session:b")
}

// TestASessionThatReturnsWhileItsEndIsTold keeps its own.
func TestASessionThatReturnsWhileItsEndIsTold(t *testing.T) {
	var order []string
	var table *Table
	hello := api.Hello{Flags: api.Flags{Session: "s"}}
	late := conn(t, hello, "")
	table = NewTable(0, func(keys []string, _ time.Duration) {
		table.Add(late)
		order = append(order, "over")
	}, func([]string) { order = append(order, "back") })
	c := conn(t, hello, "")
	table.Add(c)
	order = nil
	table.Remove(c)
	if diff := cmp.Diff([]string{"back", "over", "back"}, order); diff != "" {
		t.Errorf("what was told (-want +got):\n%s", diff)
	}
}

// A connection for one request has no session that a server could belong to: what
// it would own lives for the call, and asks nobody else (design D2).
func TestASingleRequestOwnsNothing(t *testing.T) {
	ids := 0
	single := func(session string) *Conn {
		return New(stdio.NewWriter(io.Discard, 0), Options{
			Hello:  api.Hello{Server: "srv", Flags: api.Flags{Session: session}},
			CallID: func() string { ids++; return fmt.Sprint(ids) },
			Single: true, World: newWorld(),
		})
	}
	a, b, named := single(""), single(""), single("s")
	none := func([]string, time.Duration) { t.Error("something was owned") }
	table := NewTable(0, none, func([]string) {})
	for _, c := range []*Conn{a, b} {
		table.Add(c)
		cc := c.callContext()
		cc.CallID = c.callID()
		rs := scope.Session.Resolve(cc)
		if !scope.PerCall(rs.Key) || rs.Degraded == "" {
			t.Errorf("at scope session it is %+v, want a call's", rs)
		}
		if got := table.Owner(rs.Key); got != c {
			t.Errorf("%s: another connection answers for it", rs.Key)
		}
	}
	if got := scope.Session.Key(named.callContext()); got != "session:s" {
		t.Errorf("with a session: %s", got)
	}
	for _, c := range []*Conn{a, b, named} {
		c.Close()
	}
	table.Remove(a)
	table.Remove(b)
}
