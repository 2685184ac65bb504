package proc

import (
	"path"
	"slices"
	"strings"
)

// launchers are the programs that stand between a host and its shim, by base
// name (design, "Words").
var launchers = []string{
	"sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "nu",
	"env", "nix", "direnv", "timeout",
	"npm", "npx", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv",
}

// runtimes run a launcher that is a script: its name is the second word.
var runtimes = []string{"node", "nodejs", "bun", "python", "python3"}

// Host is the host program in a shim's chain of ancestors: the first that is
// not a launcher of the shim, the zero Info when there is none. A shell counts
// as a launcher only when its own argv holds "connect": the shell of a person
// who typed something else is a host (design, "Words"). Pure.
func Host(chain []Info) Info {
	for _, in := range chain {
		if !launches(in.Argv) {
			return in
		}
	}
	return Info{}
}

// launches reports whether argv is a launcher with the word connect in it.
func launches(argv []string) bool {
	return isLauncher(argv) && slices.ContainsFunc(argv, hasConnect)
}

// hasConnect looks for the word, also inside the one string of sh -c.
func hasConnect(arg string) bool {
	words := strings.FieldsFunc(arg, func(r rune) bool {
		return strings.ContainsRune(" \t\n;&|()'\"`", r)
	})
	return slices.Contains(words, "connect")
}

func isLauncher(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	for _, name := range names(argv[0]) {
		if slices.Contains(launchers, name) {
			return true
		}
		if slices.Contains(runtimes, name) && len(argv) > 1 && slices.Contains(launchers, script(argv[1])) {
			return true
		}
	}
	return false
}

// names are the base names argv[0] may mean: a path may have spaces in it, and
// npm writes its whole command line over argv[0]. A login shell's has a dash.
func names(arg0 string) []string {
	all := []string{path.Base(arg0)}
	if first, _, ok := strings.Cut(arg0, " "); ok {
		all = append(all, path.Base(first))
	}
	for i, name := range all {
		all[i] = strings.TrimPrefix(name, "-")
	}
	return all
}

// script is the launcher's name in a path like …/npm/bin/npx-cli.js.
func script(file string) string {
	name := path.Base(file)
	name = strings.TrimSuffix(name, path.Ext(name))
	return strings.TrimSuffix(name, "-cli")
}
