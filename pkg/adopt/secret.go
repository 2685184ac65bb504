package adopt

import (
	"maps"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
)

// removed stands where a secret was that no reference can stand for.
const removed = "SECRET-REMOVED"

// hideSecrets takes every secret out of the entry: variables and headers are
// read from a file when the server starts, the rest is for a person to mend. What
// only the host would fill in is treated alike, since mcpx passes it as it stands
// (report J2).
func (s *Server) hideSecrets() {
	s.Raw.Env = s.referTo(s.Raw.Env, "variable")
	s.Raw.Headers = s.referTo(s.Raw.Headers, "header")
	for _, i := range config.SecretArgs(s.Raw.Args) {
		s.Raw.Args[i] = withoutSecret(s.Raw.Args[i])
		s.note("args[%d] held a secret, which is left out: pass it by a variable and read that from a file by \"secrets\"", i)
	}
	if config.SecretLiteral("", s.Raw.URL) {
		s.Raw.URL, _, _ = strings.Cut(config.RawServer{URL: s.Raw.URL}.Redacted().URL, "?")
		s.Raw.URL = strings.ReplaceAll(s.Raw.URL, "•••@", "")
		s.note("url held a secret, which is left out with all of its query: pass it by a header and read that from a file by \"secrets\"")
	}
	for i, a := range s.Raw.Args {
		if expands(a) {
			s.note("args[%d] holds a variable that mcpx passes as it stands: write the value out", i)
		}
	}
}

// referTo moves what is secret from a table to the secrets of the entry.
func (s *Server) referTo(table map[string]string, kind string) map[string]string {
	kept := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		v := table[name]
		secret := config.SecretLiteral(name, v) || kind == "header" && !openHeader(name, v)
		if !secret && !(config.IsReference(v) && config.SecretName(name)) {
			kept[name] = v
			if expands(v) {
				s.note("%s %s is filled in by %s, and mcpx passes it as it stands: write the value out", kind, name, s.From[0].Host.Title)
			}
			continue
		}
		if s.Raw.Mcpx.Secrets == nil {
			s.Raw.Mcpx.Secrets = map[string]config.Secret{}
		}
		file := "~/.secrets/" + s.Name + "-" + fileName(name)
		s.Raw.Mcpx.Secrets[name] = config.Secret{File: file}
		switch {
		case secret:
			s.note("%s %s held a secret in plain text: put it into %s (chmod 600), and think of it as known", kind, name, file)
		default:
			s.note("%s %s was filled in by %s: put its value into %s (chmod 600)", kind, name, s.From[0].Host.Title, file)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// openHeader reports whether a header may be seen. A header that a person wrote
// into a host's file mostly is a key, whatever it is called.
func openHeader(name, value string) bool {
	name = strings.ToLower(name)
	return value == "" || config.IsReference(value) || strings.HasPrefix(name, "x-mcpx-") ||
		slices.Contains([]string{"accept", "content-type", "user-agent"}, name)
}

// expands reports whether a host would put something in place of a part of v.
func expands(v string) bool {
	_, tail, found := strings.Cut(v, "${")
	return found && !strings.HasPrefix(tail, "mcpx.") || strings.Contains(v, "{env:")
}

// withoutSecret keeps an option's name.
func withoutSecret(arg string) string {
	for _, sep := range []string{"=", ": "} {
		if name, _, ok := strings.Cut(arg, sep); ok && config.SecretName(name) {
			return name + sep + removed
		}
	}
	return removed
}

func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' || r > '~' {
			return '-'
		}
		return r
	}, s)
}
