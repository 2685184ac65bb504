package config

import (
	"fmt"
	"strings"
)

// opener starts every placeholder that is mcpx's; all other ${…} belong to
// somebody else (record 0004 §4).
const opener = "${mcpx."

// Vars are what placeholders stand for.
type Vars struct{ Root, Cwd string }

// EmptyError is a placeholder whose value is needed and empty: a scope without
// a root, a caller without a directory.
type EmptyError struct {
	Placeholder string // as written: "${mcpx.root}"
}

func (e *EmptyError) Error() string { return "needs " + e.Placeholder + ", and there is none" }

// PlaceholderError is an unknown or malformed ${mcpx.….
type PlaceholderError struct{ msg, hint string }

func (e *PlaceholderError) Error() string { return e.msg }

// Hint says what was most likely meant.
func (e *PlaceholderError) Hint() string { return e.hint }

// CheckPlaceholders finds unknown and malformed ${mcpx.…} in s. The error is a
// *PlaceholderError.
func CheckPlaceholders(s string) error {
	for {
		_, name, rest, err := nextPlaceholder(s)
		if err != nil || name == "" {
			return err
		}
		s = rest
	}
}

// Expand substitutes ${mcpx.root} and ${mcpx.cwd} in one pass: values are not
// looked at again (threat T23). Every other ${…} passes verbatim. An empty value
// that is needed is an *EmptyError, a bad placeholder a *PlaceholderError.
func Expand(s string, v Vars) (string, error) {
	var b strings.Builder
	for {
		before, name, rest, err := nextPlaceholder(s)
		if err != nil {
			return "", err
		}
		b.WriteString(before)
		if name == "" {
			return b.String(), nil
		}
		value := v.Root
		if name == "cwd" {
			value = v.Cwd
		}
		if value == "" {
			return "", &EmptyError{Placeholder: opener + name + "}"}
		}
		b.WriteString(value)
		s = rest
	}
}

// nextPlaceholder cuts s around its first placeholder; name is "" when there is
// none, and before is then all of s.
func nextPlaceholder(s string) (before, name, rest string, err error) {
	before, tail, found := strings.Cut(s, opener)
	if !found {
		return s, "", "", nil
	}
	name, rest = word(tail)
	rest, closed := strings.CutPrefix(rest, "}")
	switch {
	case !closed:
		return "", "", "", &PlaceholderError{
			msg:  fmt.Sprintf("malformed placeholder %s%s…", opener, name),
			hint: "write ${mcpx.root} or ${mcpx.cwd}",
		}
	case name != "root" && name != "cwd":
		return "", "", "", &PlaceholderError{
			msg:  fmt.Sprintf("unknown placeholder %s%s}", opener, name),
			hint: placeholderHint(name),
		}
	}
	return before, name, rest, nil
}

// word cuts the letters, digits, "_" and "-" off the front of s. Messages show
// only this much of a value: the rest may be a secret (threat T28).
func word(s string) (word, rest string) {
	n := 0
	for n < len(s) && (isAlnum(s[n]) || s[n] == '_' || s[n] == '-') {
		n++
	}
	return s[:n], s[n:]
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func placeholderHint(name string) string {
	if k := DidYouMean(name, []string{"root", "cwd"}); k != "" {
		return "did you mean " + opener + k + "}?"
	}
	return "there are ${mcpx.root} and ${mcpx.cwd}"
}

// uses reports whether s holds the placeholder of that name.
func uses(s, name string) bool { return strings.Contains(s, opener+name+"}") }

// literal is the first ${…} of s that is not mcpx's, "" when there is none. It
// reaches the server as it stands, and people expect otherwise (report J2).
func literal(s string) string {
	for {
		_, tail, found := strings.Cut(s, "${")
		if !found {
			return ""
		}
		name, rest := word(tail)
		switch {
		case strings.HasPrefix(tail, "mcpx."):
			s = tail
		case strings.HasPrefix(rest, "}"):
			return "${" + name + "}"
		case strings.Contains(rest, "}"):
			return "${" + name + "…}"
		default:
			return ""
		}
	}
}
