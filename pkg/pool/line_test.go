package pool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lineOf is a line of these, all of one session.
func lineOf[T comparable](who ...T) (l line[T]) {
	for _, w := range who {
		l.join(w, "")
	}
	return l
}

// A place is written as its session and its number in it: a1 is session a's
// first. +a1 joins, -a1 leaves, !a1 is served, ? serves the first, and =b1/a2
// has session b share a2's place.
func TestLine(t *testing.T) {
	tests := []struct{ name, moves, want string }{
		{"one session is served in order of arrival", "+a1 +a2 +a3", "a1 a2 a3"},
		{"each session once in a round", "+a1 +a2 +a3 +b1 +c1 +b2", "a1 b1 c1 a2 b2 a3"},
		{"a newcomer is in the round that is on", "+a1 +a2 +a3 +a4 ? ? +b1", "a3 b1 a4"},
		{"one that comes again is in the next", "+a1 +a2 +a3 +b1 ? ? +b2", "a2 b2 a3"},
		{"two that take turns do not hold up a third", "+a1 +a2 +a3 +b1 +c1 ? ? +b2 ? +c2 ? +b3 ? +c3 ?", "a3 b3 c3"},
		{"who is served ahead of its turn has had one", "+a1 +a2 +a3 +b1 !a3 +c1 +b2", "a1 b1 c1 a2 b2"},
		{"and no more than one", "+a1 +a2 +a3 +a4 +b1 !a4 -a1 -a2 -a3 +b2 +b3 +a5", "b1 b2 a5 b3"},
		{"who gives up leaves its turn to its session", "+a1 +a2 +a3 +b1 +b2 -a1", "a2 b1 a3 b2"},
		{"a place that two share is as early as either's", "+a1 +a2 +a3 +c1 =b/a3", "a1 c1 a3 a2"},
		{"sharing never makes it later", "+a1 +b1 +b2 =b/a1", "a1 b1 b2"},
		{"an empty line remembers nothing", "+a1 ? +a2 +b1", "a2 b1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l line[string]
			for move := range strings.FieldsSeq(tt.moves) {
				switch who := move[1:]; move[0] {
				case '+':
					l.join(who, who[:1])
				case '-':
					l.leave(who)
				case '!':
					l.serve(who)
				case '?':
					l.serve(l.waiting[0].who)
				case '=':
					session, shared, _ := strings.Cut(who, "/")
					l.share(shared, session)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(l.all(), " ")); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			for l.len() > 0 {
				l.serve(l.waiting[0].who)
			}
			if len(l.had) != 0 {
				t.Errorf("an empty line remembers %v", l.had)
			}
		})
	}
}
