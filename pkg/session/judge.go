package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// verdict is what a session is told of one name.
type verdict struct {
	server *config.Resolved // nil: not for this session
	def    config.Definition
	state  string // in a few words, why not
	reason string // in full
	hint   string
	rule   string // or the switch, that hides it; "" when nothing does
}

// Unknown is the state of a server that no file names.
const Unknown = "unknown"

func (v verdict) known() bool { return v.state != Unknown }

// hidden reports whether the session could have the server and may not see it.
func (v verdict) hidden() bool { return v.rule != "" }

// Decide is what a session that stands in dir sees of the servers it could have
// (design D9).
func Decide(view *config.Config, t *visibility.Table, dir string, o visibility.Override) visibility.Decision {
	could := make([]string, 0, len(view.Names))
	for _, name := range view.Names {
		if s := view.Servers[name]; s != nil && !s.Disabled {
			could = append(could, name)
		}
	}
	d := t.Decide(could, dir, o)
	d.Missing = slices.DeleteFunc(d.Missing, func(name string) bool { return named(view, name) })
	return d
}

// named reports whether any file here names the server, usable or not.
func named(view *config.Config, name string) bool {
	return slices.Contains(view.Names, name) || slices.Contains(view.Invalid, name) ||
		slices.ContainsFunc(view.Untrusted, func(u config.Untrusted) bool { return u.Name == name })
}

// judge says whether the session may use the server called name. It is the one
// decision on that: lists show it, and every request asks it again.
func (st *stand) judge(name string) verdict {
	if s := st.view.Servers[name]; s != nil {
		switch {
		case s.Disabled:
			return verdict{state: "disabled", reason: "disabled", hint: `take "disabled" out of its mcpx block`}
		case !st.decision.Allows(name):
			return st.hide(name)
		}
		return verdict{server: s, def: s.Definition()}
	}
	for _, u := range st.view.Untrusted {
		if u.Name == name {
			return verdict{state: "untrusted", reason: "untrusted: only " + u.File + " names it", hint: "read it, then: mcpx trust " + u.File}
		}
	}
	for _, p := range st.view.Problems {
		if p.Server == name && !p.Warning {
			return verdict{state: "invalid", reason: p.Error(), hint: p.Hint}
		}
	}
	hint := "the servers here are: " + strings.Join(st.view.Names, ", ")
	if len(st.view.Names) == 0 {
		hint = "no server is configured here: mcpx config --sources shows which files were read"
	}
	return verdict{state: Unknown, reason: fmt.Sprintf("no config file names a server %q", name), hint: hint}
}

// hide is the verdict on a server that the rules, or the session's switch, hide.
func (st *stand) hide(name string) verdict {
	v := verdict{rule: st.decision.Why(), state: st.decision.HiddenBy(), hint: "a person can show it to this session: mcpx sessions allow " + name}
	sees := visibility.Allow{Servers: st.decision.Visible()}
	v.reason = fmt.Sprintf("server %q is %s; this session sees %s", name, v.state, sees)
	if st.rules.Broken && !st.decision.Override.Set {
		v.state = "hidden by rules that cannot be read"
		v.rule = st.rules.Path
		v.reason = fmt.Sprintf(`server %q is hidden: %s cannot be used, and "onError" is "closed"`, name, st.rules.Path)
		v.hint = "mend the file; mcpx doctor names what is wrong"
	}
	return v
}
