package scope

import (
	"fmt"
	"slices"
	"strings"
)

// Scopes are all that a config may name, from the widest to the narrowest.
func Scopes() []Scope {
	return []Scope{Global, Repo, Worktree, Cwd, Session, PSession, PID, Call}
}

// parentSession is the long spelling of PSession (design D2).
const parentSession = "parent-session"

// UnknownError is a word that names no scope.
type UnknownError struct {
	Word string // as written
	Near Scope  // the scope that was probably meant; "" when none is close
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown scope %q", e.Word) }

// Hint is the scope that was probably meant, or the list of all.
func (e *UnknownError) Hint() string {
	if e.Near != "" {
		return fmt.Sprintf("did you mean %q?", string(e.Near))
	}
	words := make([]string, 0, len(Scopes()))
	for _, s := range Scopes() {
		words = append(words, string(s))
	}
	return "one of " + strings.Join(words, ", ")
}

// Parse reads a scope as written in a config: "" is the default, Global, and
// "parent-session" is PSession. The error is an *UnknownError.
func Parse(s string) (Scope, error) {
	switch {
	case s == "":
		return Global, nil
	case s == parentSession:
		return PSession, nil
	case slices.Contains(Scopes(), Scope(s)):
		return Scope(s), nil
	}
	return "", &UnknownError{Word: s, Near: nearest(s)}
}

// nearest is the scope at most two typing slips away from word, in any case.
func nearest(word string) Scope {
	const longest = 32 // a longer word is no slip, and the comparison is quadratic
	word = strings.ToLower(strings.TrimSpace(word))
	if len(word) > longest {
		return ""
	}
	best, slips := Scope(""), 3
	for _, s := range append(Scopes(), parentSession) {
		if n := distance(word, string(s)); n < slips && n < len(s)/2+1 {
			best, slips = s, n
		}
	}
	if best == parentSession {
		return PSession
	}
	return best
}

// distance is the number of single-byte changes from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
