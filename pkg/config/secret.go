package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// reference is a value that somebody else fills in: ${NAME}, $NAME, {env:NAME}
// or {file:NAME}, alone or behind the name of an HTTP authentication scheme.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?i:bearer|basic|token) +)?(\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*|\{(env|file):[^}]*\})$`)
})

// IsReference reports whether a value is filled in by somebody else.
func IsReference(value string) bool { return reference().MatchString(value) }

// SecretLiteral reports whether a value is a secret that is written out: a token
// of a well-known make under any name, an address with a password, or anything
// but a reference under a name like token or password (threat T37).
func SecretLiteral(name, value string) bool {
	return LooksSecret(value) || secretURL(value) || SecretName(name) && !harmless(name, value)
}

// SecretArgs are the indexes of the arguments that hold a secret written out.
func SecretArgs(args []string) []int {
	var found []int
	for i, a := range args {
		name, value := "", a
		switch before, after, ok := strings.Cut(a, "="); {
		case i > 0 && takesSecret(args[i-1]) && !strings.HasPrefix(a, "-"):
			name = args[i-1]
		case ok && SecretName(before):
			name, value = before, after
		default:
			if before, after, ok := strings.Cut(a, ":"); ok && SecretName(before) {
				name, value = before, strings.TrimSpace(after)
			}
		}
		if SecretLiteral(name, value) {
			found = append(found, i)
		}
	}
	return found
}

// harmless are values that are no secret whatever their name says: references,
// switches, numbers of tokens, and where the secret is kept.
func harmless(name, value string) bool {
	name = strings.ToLower(name)
	if value == "" || IsReference(value) {
		return true
	}
	if slices.Contains([]string{"true", "false", "none", "auto", "oauth", "token", "basic", "bearer"}, strings.ToLower(value)) {
		return true
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil && strings.Contains(name, "tokens") {
		return true
	}
	for _, kept := range []string{"file", "path", "dir", "url", "command"} {
		if strings.HasSuffix(name, kept) {
			return true
		}
	}
	return strings.Contains(name, "credential") && strings.Contains(value, "/")
}

// secretURL reports whether s is an address with a password or a secret query.
func secretURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return false
	}
	if password, set := u.User.Password(); set && !IsReference(password) && password != "" {
		return true
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if SecretName(name) && !harmless(name, v) {
				return true
			}
		}
	}
	return false
}
