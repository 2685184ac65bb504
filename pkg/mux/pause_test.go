package mux

import (
	"testing"
	"time"
)

func TestStormPause(t *testing.T) {
	var s storm
	now := time.Unix(1000, 0)
	var waited time.Duration
	second := func(messages int64) time.Duration {
		waited = 0
		from := s.wasted
		for i := range messages {
			waited += s.pause(from+i+1, now)
		}
		now = now.Add(time.Second)
		return waited
	}
	for _, tt := range []struct {
		name     string
		messages int64
		want     time.Duration
	}{
		{"little is no storm", calmExcess, 0},
		{"a storm", calmExcess + 10*stormBatch, 10 * stormPause},
		{"the next second begins anew", calmExcess, 0},
	} {
		if got := second(tt.messages); got < tt.want-stormPause || got > tt.want+stormPause {
			t.Errorf("%s: waits %v, want about %v", tt.name, got, tt.want)
		}
	}
	if got := s.pause(s.wasted, now); got != 0 {
		t.Errorf("what is passed on waits %v", got)
	}
}
