package main

import "testing"

func TestNearestForgivesASlip(t *testing.T) {
	commands := []string{"status", "stop", "explain", "config", "connect"}
	tests := []struct{ word, want string }{
		{"statsu", "status"}, {"stat", "status"}, {"explian", "explain"}, {"confg", "config"}, {"stopp", "stop"},
		{"frobnicate", ""}, {"", ""}, {"x", ""},
	}
	for _, tt := range tests {
		if got := nearest(tt.word, commands); got != tt.want {
			t.Errorf("nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func FuzzNearestInventsNothing(f *testing.F) {
	for _, w := range []string{"", "statsu", "\xff", "стоп"} {
		f.Add(w)
	}
	commands := []string{"status", "stop", "explain"}
	f.Fuzz(func(t *testing.T, word string) {
		got := nearest(word, commands)
		for _, c := range append(commands, "") {
			if got == c {
				return
			}
		}
		t.Errorf("nearest(%q) = %q, which is no candidate", word, got)
	})
}
