package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/scope"
)

// checkTogether holds what only the merged server can tell: its spawn part
// against its scope.
func (m *merger) checkTogether(r *Resolved, l *layer) {
	rooted := slices.Contains([]scope.Scope{scope.Repo, scope.Worktree, scope.Cwd}, r.Scope)
	wide := slices.Contains([]scope.Scope{scope.Global, scope.Repo, scope.Worktree}, r.Scope)
	for _, one := range l.raw.values() {
		field, v := one.field, one.text
		// A spawn error besides (record 0004 §4): here it only warns, since a
		// nearer file may give the scope that has a root.
		if !rooted && substituted(field) && uses(v, "root") {
			m.report(l.at[field], field, fault{
				msg:  fmt.Sprintf("needs ${mcpx.root}, and scope %q has none", r.Scope),
				hint: `set "mcpx": { "scope": "worktree" }, or write the path out`,
				rule: "placeholder", warn: true,
			})
		}
		if wide && substituted(field) && uses(v, "cwd") {
			m.report(l.at[field], field, fault{
				msg:  fmt.Sprintf("${mcpx.cwd} is the directory of whoever comes first, and scope %q serves others too", r.Scope),
				hint: `use ${mcpx.root}, or set "mcpx": { "scope": "cwd" }`,
				rule: "placeholder", warn: true,
			})
		}
	}
	if !rooted && relative(r.Cwd) {
		m.report(l.at["cwd"], "cwd", fault{
			msg:  fmt.Sprintf("relative to a root, and scope %q has none", r.Scope),
			hint: `write the path out from /, or set "mcpx": { "scope": "worktree" }`,
		})
	}
	if rooted && startsInRoot(r.Cwd) {
		m.checkLauncher(r, l)
	}
}

func relative(cwd string) bool {
	return cwd != "" && !strings.HasPrefix(cwd, "/") && !strings.HasPrefix(cwd, opener)
}

// startsInRoot reports whether the process will start in a caller's checkout.
func startsInRoot(cwd string) bool { return cwd == "" || !strings.HasPrefix(cwd, "/") }

// checkLauncher warns of programs that run code of the directory they start in
// (threat T3).
func (m *merger) checkLauncher(r *Resolved, l *layer) {
	name := launcher(r.Command, r.Args)
	if name == "" {
		return
	}
	m.report(l.at["command"], "command", fault{
		msg:  name + " runs code of the checkout it starts in",
		hint: `install the program and name it, or set "cwd" to a directory of your own`,
		rule: "cwd-launcher", warn: true,
	})
}

// launcher names the launcher that the command is, "" when it is none.
func launcher(command string, args []string) string {
	name, first := path.Base(command), ""
	if len(args) > 0 {
		first = args[0]
	}
	switch strings.TrimRight(name, "0123456789.") {
	case "npx", "pnpx", "bunx", "uvx", "deno", "mise", "direnv", "make":
		return name
	case "npm", "pnpm", "yarn", "bun", "uv", "pipx", "nix":
		if slices.Contains(runVerbs(), first) {
			return name + " " + first
		}
	case "python":
		if i := slices.Index(args, "-m"); i >= 0 && i+1 < len(args) {
			return name + " -m"
		}
	}
	return ""
}

func runVerbs() []string {
	return []string{"exec", "x", "dlx", "run", "tool", "develop", "shell"}
}
