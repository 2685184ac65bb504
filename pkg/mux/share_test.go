package mux

import (
	"testing"
	"time"
)

func TestTurns(t *testing.T) {
	start := time.Now()
	for _, tt := range []struct {
		name   string
		called string // a session a letter, one every 100 ms, '.' for none
		owner  string // who asks, 100 ms later
		want   bool
	}{
		{"nobody called", "", "a", false},
		{"only the one who asks", "aaa", "a", false},
		{"another", "b", "a", true},
		{"another before", "baa", "a", true},
		{"another long before", "baaaaaaaaaa", "a", false},
		{"another who stopped", "b..........", "a", false},
		{"others by turns", "bcbc", "b", true},
		{"the one before the last", "bca", "a", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var turns Turns
			now := start
			for _, owner := range tt.called {
				if owner != '.' {
					turns.called(string(owner), now)
				}
				now = now.Add(100 * time.Millisecond)
			}
			if got := turns.shared(tt.owner, now); got != tt.want {
				t.Errorf("shared is %v, want %v", got, tt.want)
			}
		})
	}
}
