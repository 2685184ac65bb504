package child

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
)

// hidden stands in place of a secret.
const hidden = "•••"

// leastHidden is how long a text must be, in bytes, to be hidden: a shorter one
// cannot be told from others that happen to be the same.
const leastHidden = 4

// mask is what a server was given and nobody may read in what it says (threat
// T28): texts without a line end, the longest first.
type mask []string

// newMask finds the values to hide: those of secrets, and those in env that are
// secrets by their name or their make. Output comes in lines, and so does a key
// of many lines: each is hidden by itself. Pure.
func newMask(env []string, secrets map[string]string) mask {
	var m mask
	add := func(value string) {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= leastHidden {
				m = append(m, line)
			}
		}
	}
	for _, value := range secrets {
		add(value)
	}
	for _, entry := range env {
		// PWD is where the server runs, and no password.
		if name, value, _ := strings.Cut(entry, "="); name != "PWD" && config.SecretLiteral(name, value) {
			add(value)
		}
	}
	slices.SortFunc(m, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(m)
}

// hide returns text with what must not be read hidden. Of a text that goes on,
// rest is the end that may turn out to begin a secret: it comes before the next
// piece.
func (m mask) hide(text []byte, goesOn bool) (shown string, rest []byte) {
	if len(m) == 0 {
		return string(text), nil
	}
	var b strings.Builder
	for len(text) > 0 {
		switch n := m.begins(text); {
		case goesOn && m.mayBegin(text):
			return b.String(), text
		case n > 0:
			b.WriteString(hidden)
			text = text[n:]
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String(), nil
}

// begins is the length of the secret that text begins with, 0 when there is none.
func (m mask) begins(text []byte) int {
	for _, secret := range m {
		if len(text) >= len(secret) && string(text[:len(secret)]) == secret {
			return len(secret)
		}
	}
	return 0
}

// mayBegin reports whether all of text is the beginning of a longer secret.
func (m mask) mayBegin(text []byte) bool {
	return slices.ContainsFunc(m, func(secret string) bool {
		return len(secret) > len(text) && secret[:len(text)] == string(text)
	})
}
