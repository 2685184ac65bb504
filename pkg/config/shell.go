package config

import (
	"path"
	"slices"
	"strings"
)

// interpreter says how a program takes code on its command line.
type interpreter struct {
	names   []string
	cluster string   // short options that introduce code, also inside "-lc"
	flags   []string // other spellings of the same
	valued  []string // options whose value is the next element
	rest    bool     // everything that follows is code
}

func interpreters() []interpreter {
	return []interpreter{
		{names: []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "nu"}, cluster: "c",
			flags: []string{"--command", "--init-command", "--commands", "-C"}, valued: []string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}},
		{names: []string{"python", "pypy"}, cluster: "c", valued: []string{"-W", "-X"}},
		{names: []string{"node", "nodejs", "bun", "deno", "tsx"}, cluster: "ep", flags: []string{"--eval", "--print", "eval"},
			valued: []string{"-r", "--require", "--import", "--loader", "-C", "--conditions", "--env-file"}},
		{names: []string{"perl"}, cluster: "eE", valued: []string{"-I"}},
		{names: []string{"ruby"}, cluster: "e", flags: []string{"--eval"}, valued: []string{"-I", "-r", "-C"}},
		{names: []string{"php"}, cluster: "rBRE", valued: []string{"-d", "-c"}},
		{names: []string{"lua", "luajit", "Rscript"}, cluster: "e", flags: []string{"--eval"}},
		{names: []string{"cmd"}, flags: []string{"/c", "/C", "/k", "/K"}, rest: true},
		{names: []string{"pwsh", "powershell"}, flags: []string{"-c", "-C", "-Command", "-command"}, rest: true},
	}
}

// placeholderInCode is the index of the first argument that holds a placeholder
// and that an interpreter reads as code, -1 when there is none (threat T23). The
// interpreter may be the command or come later, behind env, timeout or nix.
func placeholderInCode(command string, args []string) int {
	argv := append([]string{command}, args...)
	for at, word := range argv {
		in, ok := interpreterNamed(word)
		if !ok {
			continue
		}
		found := false
		for i := range in.code(argv[at+1:]) {
			found = true
			if hasPlaceholder(argv[at+1+i]) {
				return at + i
			}
		}
		if found && in.rest {
			return -1
		}
	}
	return -1
}

func interpreterNamed(word string) (interpreter, bool) {
	if strings.HasPrefix(word, "-") {
		return interpreter{}, false
	}
	name := strings.TrimSuffix(path.Base(word), ".exe")
	bare := strings.TrimRight(name, "0123456789.")
	for _, in := range interpreters() {
		if slices.Contains(in.names, name) || slices.Contains(in.names, bare) {
			return in, true
		}
	}
	return interpreter{}, false
}

// code yields the indexes of the elements that are code. Options end at the
// first word that is none: what follows belongs to the script.
func (in interpreter) code(args []string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		introduced := false
		for i := 0; i < len(args); i++ {
			a := args[i]
			option := strings.HasPrefix(a, "-") && len(a) > 1 || strings.HasPrefix(a, "+") || slices.Contains(in.flags, a)
			switch {
			case introduced && (in.rest || !option):
				if !yield(i) || !in.rest {
					return
				}
			case !option:
				return
			case slices.Contains(in.valued, a):
				i++
			case in.introduces(a):
				introduced = true
				// "--eval=code" and "-ecode" hold it themselves.
				if !yield(i) {
					return
				}
			}
		}
	}
}

func (in interpreter) introduces(a string) bool {
	name, _, _ := strings.Cut(a, "=")
	if slices.Contains(in.flags, name) {
		return true
	}
	if strings.HasPrefix(a, "--") || !strings.HasPrefix(a, "-") {
		return false
	}
	// A bundle is short; "-MTemplate" is one option with a value.
	letters, _ := word(a[1:])
	if len(letters) > 4 {
		letters = letters[:1]
	}
	return strings.ContainsAny(letters, in.cluster)
}
