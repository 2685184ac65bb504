package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecideAdmit(t *testing.T) {
	roomy := room{max: 8}
	tests := []struct {
		name        string
		own, all    room
		starts      int
		predecessor bool
		want        verdict
	}{
		{"there is room", room{max: 4, live: 3}, room{max: 8, live: 7}, 1, false, verdict{start, ""}},
		{"the pool is full", room{max: 4, live: 4}, roomy, 1, false, verdict{evictOwn, byMax}},
		{"the pool is full but one is ending", room{max: 4, live: 4, ending: 1}, roomy, 1, false, verdict{wait, byMax}},
		{"the one that is ending makes room for another", room{max: 4, live: 4, ending: 1, claimed: 1}, roomy, 1, false, verdict{evictOwn, byMax}},
		{"the last free place is another's", room{max: 4, live: 3, claimed: 1}, roomy, 1, false, verdict{evictOwn, byMax}},
		{"open sessions own the pool", room{max: 4, live: 4, held: 4}, roomy, 1, false, verdict{refuse, byMax}},
		{"open sessions own all but one", room{max: 4, live: 4, held: 3}, roomy, 1, false, verdict{evictOwn, byMax}},
		{"the daemon is full", room{max: 4}, room{max: 8, live: 8}, 1, false, verdict{evictAny, byMaxInstances}},
		{"the daemon is full but one is ending", room{max: 4}, room{max: 8, live: 8, ending: 1}, 1, false, verdict{wait, byMaxInstances}},
		{"open sessions own the daemon", room{max: 4}, room{max: 8, live: 8, held: 8}, 1, false, verdict{refuse, byMaxInstances}},
		{"pool and daemon are full: the pool makes room for both", room{max: 4, live: 4}, room{max: 8, live: 8}, 1, false, verdict{evictOwn, byMax}},
		{"too many are starting", room{max: 4}, roomy, 0, false, verdict{wait, byMaxStarts}},
		{"nothing is evicted for one that could not start", room{max: 4, live: 4}, roomy, 0, false, verdict{wait, byMax}},
		{"nothing is evicted anywhere for one that could not start", room{max: 4}, room{max: 8, live: 8}, 0, false, verdict{wait, byMaxInstances}},
		{"the key's last process is not gone", room{max: 4, live: 1, ending: 1}, roomy, 1, true, verdict{wait, byPredecessor}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := decideAdmit(tt.own, tt.all, tt.starts, tt.predecessor)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("decideAdmit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextRetry(t *testing.T) {
	var got []time.Duration
	for failures := 1; failures <= 8; failures++ {
		got = append(got, nextRetry(failures)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
		t.Errorf("nextRetry in seconds (-want +got):\n%s", diff)
	}
	if got := nextRetry(1 << 40); got != time.Minute {
		t.Errorf("nextRetry after ages: got %s, want 1m0s", got)
	}
}

// minute is a time, n minutes into the test's day.
func minute(n int) time.Time { return time.Unix(0, 0).Add(time.Duration(n) * time.Minute) }

func TestVictim(t *testing.T) {
	old := instance{id: "old", phase: connected, lastUsed: minute(1)}
	recent := instance{id: "recent", phase: connected, lastUsed: minute(2)}
	leased := instance{id: "leased", phase: connected, leases: 1}
	awaited := instance{id: "awaited", phase: connected, waiters: []*waiter{{}}}
	starting := instance{id: "starting", phase: starting}
	ending := instance{id: "ending", phase: ending}
	held := instance{id: "held", phase: connected, owned: true}
	orphan := instance{id: "orphan", phase: connected, owned: true, orphanAt: minute(9)}
	tests := []struct {
		name string
		of   []*instance
		want string
	}{
		{"the least recently used goes", []*instance{&recent, &old}, "old"},
		{"one in use stays", []*instance{&leased, &recent}, "recent"},
		{"one that is waited for stays", []*instance{&awaited}, ""},
		{"one that is starting or ending is none", []*instance{&starting, &ending}, ""},
		{"an open session's own stays", []*instance{&held, &recent}, "recent"},
		{"a closed session's own goes", []*instance{&held, &orphan}, "orphan"},
		{"there is none", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if in := victim(tt.of); in != nil {
				got = in.id
			}
			if got != tt.want {
				t.Errorf("victim: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	tests := []struct {
		name string
		in   instance
		idle time.Duration
		want bool
	}{
		{"idle for long enough", instance{phase: connected, lastUsed: minute(5)}, 5 * time.Minute, true},
		{"not yet", instance{phase: connected, lastUsed: minute(6)}, 5 * time.Minute, false},
		{"never", instance{phase: connected}, 0, false},
		{"in use", instance{phase: connected, leases: 1}, time.Minute, false},
		{"still starting", instance{phase: starting}, time.Minute, false},
		{"an open session's own", instance{phase: connected, owned: true}, time.Minute, false},
		{"its session is gone", instance{phase: connected, owned: true, orphanAt: minute(10)}, 0, true},
		{"its session may come back", instance{phase: connected, owned: true, orphanAt: minute(11)}, time.Minute, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := expired(&tt.in, minute(10), tt.idle); got != tt.want {
				t.Errorf("expired: got %v, want %v", got, tt.want)
			}
		})
	}
}
