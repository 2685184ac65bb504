package visibility

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
)

var servers = []string{"atlassian", "bigquery", "gopls", "foo", "foo__bar"}

const someRules = `{"default":"*","rules":[
	{"path":"/ws","servers":["atlassian","bigquery"]},
	{"path":"/ws/p","servers":["atlassian","typo"]},
	{"path":"/scratch","servers":[]},
	{"path":"/foo","servers":["foo"]}]}`

func TestDecide(t *testing.T) {
	only := Override{Set: true, Names: []string{"gopls"}}
	tests := []struct {
		name, dir           string
		o                   Override
		visible, why, badge string
		missing             []string
	}{
		{"by default all", "/x", Override{}, "atlassian bigquery gopls foo foo__bar", "default", "all", nil},
		{"by a rule", "/ws", Override{}, "atlassian bigquery", "rule /ws", "atlassian +1", nil},
		{"by the longer rule, which names one that is not there", "/ws/p/x", Override{}, "atlassian", "rule /ws/p", "atlassian!", []string{"typo"}},
		{"nothing", "/scratch", Override{}, "", "rule /scratch", "none", nil},
		{"a name is not its beginning", "/foo", Override{}, "foo", "rule /foo", "foo", nil},
		{"by a switch that narrows", "/x", only, "gopls", "switch: only gopls", "gopls*", nil},
		{"by a switch that widens", "/scratch", Override{Set: true, All: true}, "atlassian bigquery gopls foo foo__bar", "switch: all", "all*", nil},
		{"by a switch to nothing", "/x", Override{Set: true}, "", "switch: none", "none*", nil},
		{"a switch shows no server that is off", "/x", Override{Set: true, Names: []string{"off", "gopls"}}, "gopls", "switch: only off, gopls", "gopls*", nil},
		{"a switch and a slip", "/ws/p", only, "gopls", "switch: only gopls", "gopls*!", []string{"typo"}},
	}
	table := parse(t, someRules).On(linux)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := table.Decide(servers, tt.dir, tt.o)
			if diff := cmp.Diff([]string{tt.visible, tt.why, tt.badge}, []string{strings.Join(d.Visible(), " "), d.Why(), d.Badge(false)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.missing, d.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			seen := " " + tt.visible + " "
			for _, s := range append(servers, "off", "typo", "") {
				if want := s != "" && strings.Contains(seen, " "+s+" "); d.Allows(s) != want {
					t.Errorf("Allows(%q) = %v", s, !want)
				}
			}
			if n := len(d.Visible()) + len(d.Hidden()); n != len(servers) {
				t.Errorf("%d servers are seen or hidden, of %d", n, len(servers))
			}
		})
	}
	if got := table.Decide(servers, "/ws", Override{}).Badge(true) + table.Decide(servers, "/ws/p", Override{}).Badge(true); got != "atlassian +1•atlassian!" {
		t.Errorf("with a dead server: %s", got)
	}
	if d := table.Decide(nil, "/x", Override{Set: true, All: true}); d.Visible() != nil || d.Allows("gopls") {
		t.Errorf("without servers: sees %v", d.Visible())
	}
}

func TestDecisionInWords(t *testing.T) {
	table := parse(t, someRules).On(linux)
	for dir, want := range map[string]string{
		"/ws/p": "rule /ws/p: sees atlassian; hidden: bigquery, gopls, foo, foo__bar; unknown: typo",
		"/x":    "default: sees atlassian, bigquery, gopls, foo, foo__bar",
	} {
		if got := table.Decide(servers, dir, Override{}).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPreview(t *testing.T) {
	r := parse(t, `{"default":["gopls"],"rules":[{"path":"~/b","servers":[]},{"path":"/a","servers":"*"},{"path":"~/b/","servers":["foo"]}]}`)
	lines := func(ds []Decision) (out []string) {
		for _, d := range ds {
			out = append(out, d.Dir+" "+d.Badge(false))
		}
		return out
	}
	table := r.On(linux)
	if diff := cmp.Diff([]string{" gopls", "/home/you/b foo", "/a all"}, lines(table.Preview(servers))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/a/x all", "/c gopls"}, lines(table.Preview(servers, "/a/x", "/c", "/c"))); diff != "" {
		t.Errorf("of directories (-want +got):\n%s", diff)
	}
}

func TestChange(t *testing.T) {
	table := parse(t, someRules).On(linux)
	tests := []struct {
		name, dir string
		ops       []string // "allow gopls foo"
		want      string   // the switch
		visible   string
	}{
		{"widen a rule", "/ws/p", []string{"allow gopls"}, "only atlassian, gopls", "atlassian gopls"},
		{"narrow a rule", "/ws", []string{"deny bigquery"}, "only atlassian", "atlassian"},
		{"narrow all", "/x", []string{"deny bigquery foo"}, "all but bigquery, foo", "atlassian gopls foo__bar"},
		{"and take that back", "/x", []string{"deny bigquery foo", "allow foo"}, "all but bigquery", "atlassian gopls foo foo__bar"},
		{"all that was taken, and the switch still stands", "/x", []string{"deny foo", "allow foo"}, "all", "atlassian bigquery gopls foo foo__bar"},
		{"what is seen already", "/ws/p", []string{"allow atlassian atlassian"}, "only atlassian", "atlassian"},
		{"only", "/ws", []string{"only gopls foo gopls"}, "only foo, gopls", "gopls foo"},
		{"none, then one", "/x", []string{"none", "allow gopls"}, "only gopls", "gopls"},
		{"all, then not one", "/scratch", []string{"all", "deny gopls"}, "all but gopls", "atlassian bigquery foo foo__bar"},
		{"down to nothing", "/ws/p", []string{"deny atlassian"}, "none", ""},
		{"back to the rules", "/ws/p", []string{"all", "reset"}, "", "atlassian"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := table.Decide(servers, tt.dir, Override{})
			for _, op := range tt.ops {
				words := strings.Fields(op)
				o, err := d.Change(Op(words[0]), words[1:]...)
				if err != nil {
					t.Fatal(err)
				}
				d = table.Decide(servers, tt.dir, o)
			}
			if diff := cmp.Diff([]string{tt.want, tt.visible}, []string{d.Override.String(), strings.Join(d.Visible(), " ")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASwitchOutranksTheRules(t *testing.T) {
	before, after := parse(t, someRules).On(linux), parse(t, `{"default":[]}`).On(linux)
	o, err := before.Decide(servers, "/ws", Override{}).Change(Show, "gopls")
	if err != nil {
		t.Fatal(err)
	}
	a, b := before.Decide(servers, "/ws", o), after.Decide(servers, "/scratch", o)
	if diff := cmp.Diff(a.Visible(), b.Visible()); diff != "" {
		t.Errorf("an edit of the rules, or a move, disturbed it (-before +after):\n%s", diff)
	}
	if got := Widened(before.Decide(servers, "/ws", Override{}), a); !cmp.Equal(got, []string{"gopls"}) {
		t.Errorf("widened by %v", got)
	}
	if got := Widened(a, after.Decide(servers, "/x", Override{})); len(got) > 0 {
		t.Errorf("back to no server: widened by %v", got)
	}
	// A server that is switched on in the config while all are seen is seen too.
	all := Override{Set: true, All: true}
	if !before.Decide(append(servers, "new"), "/scratch", all).Allows("new") || before.Decide(append(servers, "new"), "/ws", o).Allows("new") {
		t.Error("a new server is seen by whoever sees all, and nobody else")
	}
}

func TestANarrowSwitchShowsNothingThatRulesHide(t *testing.T) {
	table := parse(t, someRules).On(linux)
	o, err := table.Decide(servers, "/x", Override{}).Change(Hide, "gopls")
	if err != nil {
		t.Fatal(err)
	}
	o.Narrow = true
	for dir, want := range map[string]string{"/x": "atlassian bigquery foo foo__bar", "/ws": "atlassian bigquery", "/scratch": ""} {
		if got := strings.Join(table.Decide(servers, dir, o).Visible(), " "); got != want {
			t.Errorf("%s: sees %q, want %q", dir, got, want)
		}
	}
	o.Narrow = false
	if got := table.Decide(servers, "/scratch", o).Visible(); len(got) != 4 {
		t.Errorf("a person's outranks the rules: %v", got)
	}
}

func TestChangeRefuses(t *testing.T) {
	d := None().On(linux).Decide(servers, "/x", Override{})
	tests := []struct {
		name       string
		op         Op
		names      []string
		want, hint string
	}{
		{"a server that is off", Show, []string{"gopls", "off"}, `server "off": this session cannot have it: no server that is on has the name`, "there are: atlassian, bigquery, gopls, foo, foo__bar"},
		{"a slip", Hide, []string{"goplz"}, `server "goplz": this session cannot have it: no server that is on has the name`, "did you mean gopls?"},
		{"nobody", Only, nil, "only with 0 servers", "allow, deny and only name servers; none, all and reset do not"},
		{"somebody", All, []string{"gopls"}, "all with 1 servers", "allow, deny and only name servers; none, all and reset do not"},
		{"something else", "toggle", nil, `a switch has no "toggle"`, "known here: allow, deny, only, none, all, reset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := d.Change(tt.op, tt.names...)
			if err == nil || err.Error() != tt.want || config.HintOf(err) != tt.hint || o.Set {
				t.Errorf("got %v | %s", err, config.HintOf(err))
			}
		})
	}
}
