package daemon

import "testing"

func TestOrphaned(t *testing.T) {
	tests := []struct {
		name, mark string
		want       bool
	}{
		{"a child of a daemon before this one", "ab12.old.3", true},
		{"a child of this daemon", "ab12.new.3", false},
		{"a child of another runtime directory's daemon", "ff00.old.3", false},
		{"a runtime directory whose hash begins alike", "ab123.old.3", false},
		{"a daemon whose epoch begins alike", "ab12.newer.3", true},
		{"no mark", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := orphaned(tt.mark, "ab12.new"); got != tt.want {
				t.Errorf("orphaned(%q) = %v, want %v", tt.mark, got, tt.want)
			}
		})
	}
}
