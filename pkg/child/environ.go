package child

import (
	"maps"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// cleanNames are all that the policy "clean" lets through (design §3).
var cleanNames = []string{"HOME", "PATH", "LANG", "TMPDIR"}

// droppedPrefixes begin the names that no base environment passes on: they
// change which code a program loads or which repository git sees, and they
// belong to whoever started the daemon (design D15, threat T26). A config may
// set any of them.
var droppedPrefixes = []string{"GIT_", "LD_", "DYLD_", "PYTHON", "PERL5", "MCPX_"}

// droppedNames are such names in full. OLDPWD and _ are another process's past.
var droppedNames = []string{"NODE_OPTIONS", "RUBYOPT", "BASH_ENV", "OLDPWD", "_"}

// Environ is a child's whole environment, sorted by name: what the plan's policy
// leaves of base, the plan's own variables, the secrets, PWD, and MCPX_INSTANCE
// unless marker is "". Later ones win. home is HOME where base has none. Pure.
func Environ(base []string, p spawn.Plan, secrets map[string]string, home, dir, marker string) []string {
	env := map[string]string{}
	if home != "" {
		env["HOME"] = home
	}
	for _, entry := range base {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && inherits(p.EnvPolicy, name) {
			env[name] = value
		}
	}
	maps.Copy(env, p.Env)
	maps.Copy(env, secrets)
	env["PWD"] = dir
	if marker != "" {
		env["MCPX_INSTANCE"] = marker
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}

func inherits(policy config.EnvPolicy, name string) bool {
	if policy == config.Clean {
		return slices.Contains(cleanNames, name)
	}
	return !slices.Contains(droppedNames, name) &&
		!slices.ContainsFunc(droppedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Value is the value of name in env, the last one as in exec; "" if none.
func Value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
