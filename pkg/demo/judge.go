package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/roots"
)

// expectation is what one session must get.
type expectation struct {
	dir      string
	checkout string // where its server runs, and what that server is told
	sees     string
	never    string
	peer     int // the session whose process it must share; 0: a process of its own
}

// judge fills in who shares with whom and what is wrong.
func judge(rep *Report, expected []expectation) {
	seen := map[int]int{} // pid to the first session that it answered
	for i := range rep.Sessions {
		s, want := &rep.Sessions[i], expected[i]
		s.Peer = seen[s.PID]
		if s.Peer == 0 {
			seen[s.PID] = i + 1
		}
		s.Wrong = faults(*s, want)
	}
	rep.Processes = len(seen)
}

func faults(s Session, want expectation) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if s.RunIn != want.checkout {
		complain("its server runs in %s, not in %s", s.RunIn, want.checkout)
	}
	if uri := roots.URI(want.checkout); !slices.Equal(s.Roots, []string{uri}) {
		complain("its server was told %s, not %s", list(s.Roots), uri)
	}
	if !slices.Contains(s.Saw, want.sees) {
		complain("it saw %s, not %s", list(s.Saw), want.sees)
	}
	if slices.Contains(s.Saw, want.never) {
		complain("it saw %s, which is in the other checkout", want.never)
	}
	switch {
	case want.peer == 0 && s.Peer != 0:
		complain("it shares a process with session %d", s.Peer)
	case want.peer != s.Peer:
		complain("it does not share the process of session %d", want.peer)
	}
	return wrong
}

func list(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, " ")
}
