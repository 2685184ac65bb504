package proc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const statTail = " 5 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 200 18446744073709551615"

func TestParseStat(t *testing.T) {
	want := entry{ID: ID{PID: 42, Start: 987654}, parent: 5, group: 40}
	dead := want
	dead.dead = true
	tests := []struct {
		name, line string
		want       entry
		ok         bool
	}{
		{"a plain name", "42 (gopls) S" + statTail + "\n", want, true},
		{"a name with spaces and parentheses", "42 (a) R 1 (b c) S" + statTail, want, true},
		{"a name with a newline", "42 (a\nb) S" + statTail, want, true},
		{"an empty name", "42 () S" + statTail, want, true},
		{"a zombie", "42 (gopls) Z" + statTail, dead, true},
		{"too short a line", "42 (gopls) S 5 40", entry{}, false},
		{"no name", "42 gopls S" + statTail, entry{}, false},
		{"nothing", "", entry{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseStat(tt.line)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(entry{})); diff != "" || ok != tt.ok {
				t.Errorf("parseStat: ok %v, want %v (-want +got):\n%s", ok, tt.ok, diff)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("42 (gopls) S" + statTail)
	f.Add("42 (a) R 1 (b c) S" + statTail)
	f.Add("1 )( S")
	f.Fuzz(func(t *testing.T, line string) {
		if e, ok := parseStat(line); !ok && e != (entry{}) {
			t.Errorf("parseStat(%q) is not ok and yet %+v", line, e)
		}
	})
}
