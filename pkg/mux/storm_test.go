package mux

import (
	"testing"
	"testing/synctest"
	"time"
)

// A server that repeats itself without end costs nobody else anything (threat T34).
func TestStorms(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}`
	tests := []struct {
		name, line string
		perSecond  int
	}{
		{"progress", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, progressPerSecond},
		{"log messages", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`, logsPerSecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stage{conn: newMemConn(), hosts: map[string]*host{}}
				s.mux = New(s.conn, Options{Server: "srv"})
				for _, line := range []string{"attach A", "A sends " + call} {
					if err := s.do(line); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					for range 500 {
						s.conn.out <- tt.line
					}
					synctest.Wait()
					h := s.hosts["A"]
					if len(h.got) != tt.perSecond {
						t.Errorf("got %d in a second, want %d", len(h.got), tt.perSecond)
					}
					h.got = nil
					time.Sleep(time.Second)
				}
				if got, want := s.mux.Stats().Dropped, int64(2*(500-tt.perSecond)); got != want {
					t.Errorf("dropped: got %d, want %d", got, want)
				}
				if got, want := s.mux.Stats().Excess, int64(2*(500-tt.perSecond)); got != want {
					t.Errorf("excess: got %d, want %d", got, want)
				}
				s.conn.die(nil)
				<-s.mux.Done()
			})
		})
	}
}
