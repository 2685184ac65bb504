package render

import (
	"path"
	"slices"
	"strings"
)

// runner is a program that fetches what it runs.
type runner struct {
	verbs []string // one must come first; none: the program by itself
	named []string // options whose value is the package
	exact string   // what stands between a name and its version
}

func runners() map[string]runner {
	npm := []string{"-p", "--package"}
	return map[string]runner{
		"npx":  {named: npm, exact: "@"},
		"bunx": {named: npm, exact: "@"},
		"pnpx": {named: npm, exact: "@"},
		"npm":  {verbs: []string{"exec", "x"}, named: npm, exact: "@"},
		"pnpm": {verbs: []string{"dlx"}, named: npm, exact: "@"},
		"yarn": {verbs: []string{"dlx"}, named: npm, exact: "@"},
		"uvx":  {named: []string{"--from"}, exact: "@"},
		"pipx": {verbs: []string{"run"}, named: []string{"--spec"}, exact: "=="},
		"go":   {verbs: []string{"run"}, exact: "@"},
	}
}

// unpinned is the index of the argument that names a package without saying
// which version, -1 when there is none. What lies on the disk has no version to
// say, and so has a Go package without one: the module around it decides.
func unpinned(command string, args []string) int {
	name := path.Base(command)
	r, ok := runners()[name]
	if !ok {
		return -1
	}
	from := 0
	if r.verbs != nil {
		if len(args) == 0 || !slices.Contains(r.verbs, args[0]) {
			return -1
		}
		from = 1
	}
	i, pkg := r.pkg(args, from)
	switch {
	case i < 0, strings.HasPrefix(pkg, "."), strings.HasPrefix(pkg, "/"), strings.HasPrefix(pkg, "${"):
		return -1
	case name == "go" && !strings.Contains(pkg, "@"):
		return -1
	case r.pins(pkg):
		return -1
	}
	return i
}

// pkg finds the package: the value of the option for it, else the first
// argument that is no option.
func (r runner) pkg(args []string, from int) (int, string) {
	for i := from; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(r.named, option) && joined:
			return i, value
		case slices.Contains(r.named, option) && i+1 < len(args):
			return i + 1, args[i+1]
		case !strings.HasPrefix(args[i], "-"):
			return i, args[i]
		}
	}
	return -1, ""
}

// pins reports whether a version begins with a digit, or is a Go commit; a
// scope's "@" comes first.
func (r runner) pins(pkg string) bool {
	for _, sep := range []string{r.exact, "=="} {
		i := strings.LastIndex(pkg, sep)
		if i <= 0 {
			continue
		}
		version := strings.TrimPrefix(pkg[i+len(sep):], "v")
		return version != "" && (version[0] >= '0' && version[0] <= '9' || isCommit(version))
	}
	return false
}

func isCommit(s string) bool {
	return len(s) >= 7 && strings.Trim(s, "0123456789abcdef") == ""
}
