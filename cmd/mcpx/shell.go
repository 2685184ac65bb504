package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// masked stands where a value may be a secret; values leave the program only to
// a terminal, with --reveal (threat T28).
const masked = "•••"

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shownURL is an address without what may be secret in it.
func shownURL(u string) string { return config.RawServer{URL: u}.Redacted().URL }

// quoteShown quotes a word for a person to read; a mask needs no quotes.
func quoteShown(w string) string {
	if strings.Contains(w, masked) {
		return w
	}
	return hostfile.Quote(w)
}

// shellLine is what to paste to start a plan's program by hand, in its
// directory. A value that may be a secret is not in it: the line takes it from
// the shell's own variable and refuses to run without; a secret is read where
// its reference points.
func shellLine(p spawn.Plan, home string, reveal bool) string {
	words := []string{"cd", hostfile.Quote(cmp.Or(p.Dir, home)), "&&"}
	var set []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		value := hostfile.Quote(p.Env[name])
		if !reveal && p.Env[name] != "" {
			value = `"${` + name + `:?is masked here: set it first}"`
			if !shellName.MatchString(name) {
				value = hostfile.Quote(masked)
			}
		}
		set = append(set, hostfile.Quote(name)+"="+value)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		set = append(set, hostfile.Quote(name)+"="+secretWord(p.Secrets[name], home, reveal))
	}
	if len(set) > 0 {
		words = append(append(words, "env"), set...)
	}
	args := p.Args
	if !reveal {
		args = config.RedactArgs(args)
	}
	words = append(words, hostfile.Quote(p.Command))
	for _, a := range args {
		words = append(words, hostfile.Quote(a))
	}
	return strings.Join(words, " ")
}

func secretWord(s config.Secret, home string, reveal bool) string {
	if s.File != "" {
		file := s.File
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = home + "/" + rest
		}
		return fmt.Sprintf(`"$(cat %s)"`, hostfile.Quote(file))
	}
	command := s.Command
	if !reveal {
		command = config.RedactArgs(command)
	}
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = hostfile.Quote(w)
	}
	return fmt.Sprintf(`"$(%s)"`, strings.Join(words, " "))
}
