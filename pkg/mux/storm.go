package mux

import "time"

// A server that says much more than is passed on is read more slowly, so that the
// storm costs itself and not those who have other servers (threat T34): its pipe
// fills, and it waits for its own noise.
const (
	calmExcess = 1000 // messages of a second that are dropped at full speed
	stormBatch = 32   // of those beyond, between two pauses
	stormPause = 2 * time.Millisecond
)

// storm counts what a server says in vain.
type storm struct {
	wasted int64 // in all, when it was last looked at
	second time.Time
	n      int64
}

// pause is how long to wait before the next message is read. wasted is how many
// came to nothing in all.
func (s *storm) pause(wasted int64, now time.Time) time.Duration {
	fresh := wasted - s.wasted
	if s.wasted = wasted; fresh == 0 {
		return 0
	}
	if now.Sub(s.second) >= time.Second {
		s.second, s.n = now, 0
	}
	if s.n += fresh; s.n <= calmExcess || s.n%stormBatch != 0 {
		return 0
	}
	return stormPause
}

// breathe makes the reader wait in a storm.
func (m *Mux) breathe() {
	m.mu.Lock()
	wasted := m.stats.Excess + m.stats.Dropped
	m.mu.Unlock()
	if wait := m.storm.pause(wasted, time.Now()); wait > 0 {
		time.Sleep(wait)
	}
}
