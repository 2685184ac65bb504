package daemon

import "testing"

func TestSkewed(t *testing.T) {
	tests := []struct {
		name        string
		caller, own int
		supervised  bool
		want        skew
	}{
		{"a caller of the same API is served", 2, 2, false, serve},
		{"an older one stops nothing", 1, 2, false, serve},
		{"nor a service's daemon", 1, 2, true, serve},
		{"a newer one has its own daemon", 3, 2, false, leave},
		{"but not in the place of a service's", 3, 2, true, refuse},
		{"one that says nothing is no caller", 0, 2, false, refuse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := skewed(tt.caller, tt.own, tt.supervised); got != tt.want {
				t.Errorf("skewed(%d, %d, %v): got %d, want %d", tt.caller, tt.own, tt.supervised, got, tt.want)
			}
		})
	}
}
