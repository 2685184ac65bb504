package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// explained is explain --json: all that is decided about one server before
// anything starts (design §5).
type explained struct {
	Server    string   `json:"server"`
	Scope     string   `json:"scope"`
	Key       string   `json:"key"`
	Root      string   `json:"root"`
	Degraded  string   `json:"degraded"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Cwd       string   `json:"cwd"`
	CwdSource string   `json:"cwdSource"`
	Visible   bool     `json:"visible"`
	Rule      *string  `json:"rule"`
	DefinedIn string   `json:"definedIn"`
	Error     string   `json:"error,omitempty"`

	server *config.Resolved
	plan   spawn.Plan
	err    error
}

// explain takes the steps of a call up to the plan: scope, then spawn.
func (v *view) explain(s *config.Resolved) explained {
	cc := v.cc
	rs := s.Scope.Resolve(cc)
	e := explained{
		Server: s.Name, Scope: string(s.Scope), Key: rs.Key, Root: rs.Root, Degraded: rs.Degraded,
		Args: []string{}, Visible: v.sees.Allows(s.Name), DefinedIn: position(definedAt(s)), server: s,
	}
	if v.sees.Row >= 0 {
		e.Rule = &v.sees.Rule
	}
	e.plan, e.err = spawn.NewPlan(*s, rs, cc, v.dirs.Home)
	if e.err != nil {
		e.Error = e.err.Error()
		return e
	}
	e.Command, e.Args = e.plan.Command, config.RedactArgs(e.plan.Args)
	e.Cwd, e.CwdSource = cmp.Or(e.plan.Dir, v.dirs.Home), string(e.plan.DirSource)
	if e.plan.URL != "" {
		e.Command, e.Cwd, e.CwdSource = shownURL(e.plan.URL), "", ""
	}
	return e
}

// definedAt is where the spawn part was written.
func definedAt(s *config.Resolved) config.Origin {
	for _, field := range []string{"command", "url", ""} {
		if o, ok := s.Origins[field]; ok {
			return o
		}
	}
	return config.Origin{}
}

func position(o config.Origin) string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// lines are the rows of explain, for a person.
func (v *view) lines(e explained) [][]string {
	home := v.dirs.Home
	rows := [][]string{
		{"defined", tilde(e.DefinedIn, home), v.scopeOrigin(e)},
		{"scope", v.scopeLine(e), v.linked(e)},
		{"key", e.Key},
	}
	if e.Degraded != "" {
		rows = append(rows, []string{"degraded", e.Degraded})
	}
	switch {
	case e.err != nil:
		rows = append(rows, []string{"runs", "nothing: " + e.err.Error()})
		if hint := config.HintOf(e.err); hint != "" {
			rows = append(rows, []string{"hint", hint})
		}
	case e.plan.URL != "":
		rows = append(rows, []string{"asks", e.Command})
	default:
		words := append([]string{e.Command}, e.Args...)
		for i, w := range words {
			words[i] = quoteShown(w)
		}
		rows = append(rows, []string{"runs", strings.Join(words, " "),
			fmt.Sprintf("in %s (from %s)", tilde(e.Cwd, home), e.CwdSource)})
	}
	if e.err == nil {
		rows = append(rows, []string{"told", told(e.plan)})
	}
	return append(rows, []string{"visible", v.visible(e)})
}

// visible says whether a session here sees the server, and what decided it.
func (v *view) visible(e explained) string {
	why := v.sees.Why() + " → " + v.sees.Allow.String()
	switch {
	case e.server.Disabled:
		return "no, disabled"
	case !e.Visible && v.rules.Broken:
		return "no, the rules cannot be read: mcpx doctor"
	case !e.Visible:
		return "no, " + why
	case v.rules.Broken:
		return "yes, though the rules cannot be read: mcpx doctor"
	case v.rules.Exists:
		return "yes, " + why
	}
	return "yes"
}

// switched is what the switch of the session that runs this says of a server, ""
// without one.
func (v *view) switched(s *api.Status, server string) string {
	if s == nil {
		return ""
	}
	for _, session := range s.Sessions {
		if session.ID == v.cc.Session && session.Override != nil {
			sees := "hides it from"
			if slices.Contains(session.Visible, server) {
				sees = "shows it to"
			}
			return *session.Override + ", which " + sees + " this session"
		}
	}
	return ""
}

// scopeOrigin says where the scope was written, when that is another file.
func (v *view) scopeOrigin(e explained) string {
	at, ok := e.server.Origins["mcpx.scope"]
	if !ok || at.File == definedAt(e.server).File {
		return ""
	}
	return fmt.Sprintf("(scope from %s)", tilde(position(at), v.dirs.Home))
}

func (v *view) scopeLine(e explained) string {
	if e.Root == "" {
		return e.Scope
	}
	return e.Scope + " → " + tilde(e.Root, v.dirs.Home)
}

func (v *view) linked(e explained) string {
	git := v.cc.Git
	if e.Scope != string(scope.Worktree) || git.MainWorktree == "" || e.Root != git.Worktree || git.Worktree == git.MainWorktree {
		return ""
	}
	return "linked worktree of " + tilde(git.MainWorktree, v.dirs.Home)
}

// told is how the server learns its workspace (design D5).
func told(p spawn.Plan) string {
	if p.Workspace.Root == "" {
		if p.Root != "" {
			return "nothing: home and what holds it are never offered"
		}
		return "nothing: there is no root"
	}
	ways := "rootUri, workspaceFolders: "
	if p.Workspace.Roots {
		ways = "roots/list, " + ways
	}
	return ways + roots.URI(filepath.Clean(p.Workspace.Root))
}
