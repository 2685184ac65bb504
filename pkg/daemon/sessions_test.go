package daemon

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/roots"
)

func TestChangeRoots(t *testing.T) {
	now := []roots.Root{{Path: "/a", Origin: roots.Cwd}, {Path: "/gone", Ignored: "no such directory"}, {Path: "/b", Origin: roots.Cwd}}
	tests := []struct {
		name, op, dirs, ceiling string
		want, msg               string
		less                    bool // nobody is asked
	}{
		{"set", "set", "/c /a /c", "", "/c /a", "", false},
		{"add goes on from where it is", "add", "/c", "", "/a /b /c", "", false},
		{"add what is there", "add", "/b", "", "/a /b", "", true},
		{"remove one", "remove", "/b", "", "/a", "", true},
		{"remove the first, which moves it", "remove", "/a", "", "/b", "", false},
		{"remove all", "remove", "/a /b", "", "", "that would leave the session without a root", false},
		{"remove what is none", "remove", "/c", "", "", "/c is no root of this session", false},
		{"fewer by set", "set", "/a", "", "/a", "", true},
		{"reset", "reset", "", "", "", "", false},
		{"reset with some", "reset", "/a", "", "", "reset with 1 directories", false},
		{"set without any", "set", "", "", "", "set with 0 directories", false},
		{"something else", "move", "/a", "", "", `roots have no "move"`, false},
		{"inside of the ceiling", "set", "/c/d /e", "/c /e", "/c/d /e", "", false},
		{"outside", "set", "/cc", "/c /e", "", "/cc is outside of what may be set: /c, /e", false},
		{"and what comes along", "add", "/c", "/c", "", "/a is outside of what may be set: /c", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := changeRoots(now, tt.op, strings.Fields(tt.dirs), strings.Fields(tt.ceiling))
			msg := ""
			if err != nil {
				msg = err.Msg
			}
			if diff := cmp.Diff([]string{tt.want, tt.msg}, []string{strings.Join(got, " "), msg}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err == nil && onlyLess(now, got) != tt.less {
				t.Errorf("onlyLess(%v) = %v", got, !tt.less)
			}
		})
	}
	var many []string
	for range maxRoots + 1 {
		many = append(many, "/x"+strings.Repeat("y", len(many)))
	}
	if _, err := changeRoots(now, "set", many, nil); err == nil {
		t.Errorf("%d roots are not too many", len(many))
	}
}
