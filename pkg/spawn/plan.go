package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/scope"
)

// NewPlan makes the plan of the instance that rs names. cc is the caller that
// created the instance: its directory is what ${mcpx.cwd} stands for, also when
// the instance restarts. home is the user's home directory, canonical, for the
// rule that home is never offered as a root. The error is an *Error.
func NewPlan(s config.Resolved, rs scope.ResolvedScope, cc scope.CallContext, home string) (Plan, error) {
	p := Plan{
		Server:    s.Name,
		Key:       rs.Key,
		Root:      rs.Root,
		Secrets:   maps.Clone(s.Secrets),
		URL:       s.URL,
		Headers:   maps.Clone(s.Headers),
		Protocol:  s.Protocol,
		Workspace: workspace(rs.Root, home, s.Roots),
	}
	e := expander{server: s.Name, scope: cmp.Or(s.Scope, scope.Global), vars: config.Vars{Root: rs.Root, Cwd: cc.Cwd}}
	if c, found := control(rs.Root); found {
		return Plan{}, e.fail("root", fmt.Sprintf("%q holds the control character %q", rs.Root, c),
			"rename the directory")
	}
	if s.URL != "" {
		return p, nil
	}
	p.EnvPolicy = s.EnvPolicy
	var err error
	if p.Command, err = command(s); err != nil {
		return Plan{}, err
	}
	if p.Args, err = e.args(s.Args); err != nil {
		return Plan{}, err
	}
	if p.Env, err = e.env(s.Env); err != nil {
		return Plan{}, err
	}
	cwd, err := e.cwd(s.Cwd, rs)
	if err != nil {
		return Plan{}, err
	}
	p.Dir, p.DirSource = Dir(cwd, rs.Root)
	return p, nil
}

// command resolves a command with a slash against the directory of the file
// that declares it, never the root: any clone could supply the program (threat
// T2). "~/" is a directory called "~" here: mcpx expands only ${mcpx.…}.
func command(s config.Resolved) (string, error) {
	switch {
	case s.Command == "":
		return "", &Error{Server: s.Name, Field: "command", Msg: "is missing",
			Fix: "set \"command\", or \"url\" for a remote server"}
	case path.IsAbs(s.Command) || !strings.Contains(s.Command, "/"):
		return s.Command, nil
	case !path.IsAbs(s.Dir):
		return "", &Error{Server: s.Name, Field: "command",
			Msg: fmt.Sprintf("%q is relative, and no file says to what", s.Command),
			Fix: "write the path out, or name a program on PATH"}
	}
	return path.Join(s.Dir, s.Command), nil
}

// expander substitutes placeholders in the fields of one server.
type expander struct {
	server string
	scope  scope.Scope
	vars   config.Vars
}

func (e expander) args(args []string) ([]string, error) {
	out := slices.Clone(args)
	for i, a := range args {
		var err error
		if out[i], err = e.expand(fmt.Sprintf("args[%d]", i), a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e expander) env(env map[string]string) (map[string]string, error) {
	out := maps.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(env)) { // the first problem, always the same one
		var err error
		if out[name], err = e.expand("env."+name, env[name]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cwd is the config's directory after substitution, absolute, "" when it sets
// none. A server whose scope should have a root and has none starts nowhere
// unless its cwd is set (design D2).
func (e expander) cwd(cwd string, rs scope.ResolvedScope) (string, error) {
	if cwd == "" {
		if rs.Root == "" && rooted(e.scope) {
			why := fmt.Sprintf("scope %q has no directory here", e.scope)
			if rs.Degraded != "" {
				why += ": " + rs.Degraded
			}
			return "", e.fail("cwd", why, "start the host in a checkout, or set \"cwd\"")
		}
		return "", nil
	}
	dir, err := e.expand("cwd", cwd)
	switch {
	case err != nil:
		return "", err
	case path.IsAbs(dir):
		return dir, nil
	case e.vars.Root == "":
		return "", e.fail("cwd", fmt.Sprintf("%q is relative, and scope %q has no root here", dir, e.scope),
			e.widen())
	}
	return path.Join(e.vars.Root, dir), nil
}

// expand refuses an empty value that is needed: putting nothing, or the
// daemon's directory, in its place is what placeholders exist to prevent
// (record 0004 §4).
func (e expander) expand(field, text string) (string, error) {
	out, err := config.Expand(text, e.vars)
	if empty, is := errors.AsType[*config.EmptyError](err); is {
		return "", e.needs(field, empty.Placeholder)
	}
	if err != nil {
		return "", e.fail(field, err.Error(), config.HintOf(err))
	}
	if c, found := control(e.vars.Cwd); found && strings.Contains(text, "${mcpx.cwd}") {
		return "", e.fail(field, fmt.Sprintf("%q holds the control character %q", e.vars.Cwd, c),
			"rename the directory")
	}
	return out, nil
}

func (e expander) needs(field, placeholder string) error {
	if placeholder == "${mcpx.cwd}" {
		return e.fail(field, "needs ${mcpx.cwd}, and the caller has no directory",
			"start the host in a directory, or write the path out")
	}
	return e.fail(field, fmt.Sprintf("needs %s, and scope %q has none", placeholder, e.scope), e.widen())
}

// widen is the way out of a root that is missing.
func (e expander) widen() string {
	if rooted(e.scope) {
		return "start the host in a checkout, or write the path out"
	}
	return `set "mcpx": { "scope": "worktree" }, or write the path out`
}

func (e expander) fail(field, msg, fix string) error {
	return &Error{Server: e.server, Field: field, Msg: msg, Fix: fix}
}

// rooted are the scopes that should have a root.
func rooted(s scope.Scope) bool {
	return s == scope.Repo || s == scope.Worktree || s == scope.Cwd
}

// control finds the first control character of ASCII in a path. One in a root
// ends a line or a string somewhere downstream (threat T23).
func control(p string) (string, bool) {
	i := strings.IndexFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f })
	if i < 0 {
		return "", false
	}
	return p[i : i+1], true
}
