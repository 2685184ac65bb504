package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecideAdmit(t *testing.T) {
	roomy := room{max: 8}
	plenty := allowance{calls: 1, start: true}
	tests := []struct {
		name        string
		own, all    room
		starts      int
		predecessor bool
		mine        allowance
		want        verdict
	}{
		{"there is room", room{max: 4, live: 3}, room{max: 8, live: 7}, 1, false, plenty, verdict{start, ""}},
		{"the pool is full", room{max: 4, live: 4}, roomy, 1, false, plenty, verdict{evictOwn, byMax}},
		{"the pool is full but one is ending", room{max: 4, live: 4, ending: 1}, roomy, 1, false, plenty, verdict{wait, byMax}},
		{"the one that is ending makes room for another", room{max: 4, live: 4, ending: 1, claimed: 1}, roomy, 1, false, plenty, verdict{evictOwn, byMax}},
		{"the last free place is another's", room{max: 4, live: 3, claimed: 1}, roomy, 1, false, plenty, verdict{evictOwn, byMax}},
		{"open sessions own the pool", room{max: 4, live: 4, held: 4}, roomy, 1, false, plenty, verdict{refuse, byMax}},
		{"open sessions own all but one", room{max: 4, live: 4, held: 3}, roomy, 1, false, plenty, verdict{evictOwn, byMax}},
		{"the daemon is full", room{max: 4}, room{max: 8, live: 8}, 1, false, plenty, verdict{evictAny, byMaxInstances}},
		{"the daemon is full but one is ending", room{max: 4}, room{max: 8, live: 8, ending: 1}, 1, false, plenty, verdict{wait, byMaxInstances}},
		{"open sessions own the daemon", room{max: 4}, room{max: 8, live: 8, held: 8}, 1, false, plenty, verdict{refuse, byMaxInstances}},
		{"pool and daemon are full: the pool makes room for both", room{max: 4, live: 4}, room{max: 8, live: 8}, 1, false, plenty, verdict{evictOwn, byMax}},
		{"too many are starting", room{max: 4}, roomy, 0, false, plenty, verdict{wait, byMaxStarts}},
		{"nothing is evicted for one that could not start", room{max: 4, live: 4}, roomy, 0, false, plenty, verdict{wait, byMax}},
		{"nothing is evicted anywhere for one that could not start", room{max: 4}, room{max: 8, live: 8}, 0, false, plenty, verdict{wait, byMaxInstances}},
		{"the key's last process is not gone", room{max: 4, live: 1, ending: 1}, roomy, 1, true, plenty, verdict{wait, byPredecessor}},
		{"its session has enough processes of one call", room{max: 4}, roomy, 1, false, allowance{start: true}, verdict{wait, bySessionCalls}},
		{"its session started too many of late", room{max: 4}, roomy, 1, false, allowance{calls: 1}, verdict{wait, bySessionStart}},
		{"nothing is evicted for a session that may not start", room{max: 4, live: 4}, room{max: 8, live: 8}, 1, false, allowance{calls: 1}, verdict{wait, bySessionStart}},
		{"what will never be is refused at once all the same", room{max: 4, live: 4, held: 4}, roomy, 1, false, allowance{}, verdict{refuse, byMax}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := decideAdmit(tt.own, tt.all, tt.starts, tt.predecessor, tt.mine)
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
	now := minute(10)
	at := func(ago time.Duration) time.Time { return now.Add(-ago) }
	mine := func(id string, ago time.Duration) *instance {
		return &instance{id: id, phase: connected, by: "me", lastUsed: at(ago)}
	}
	yours := func(id string, ago time.Duration) *instance {
		return &instance{id: id, phase: connected, by: "you", lastUsed: at(ago)}
	}
	leased := &instance{id: "leased", phase: connected, by: "me", leases: 1}
	awaited := &instance{id: "awaited", phase: connected, by: "me", waiters: lineOf(&waiter{})}
	starting := &instance{id: "starting", phase: starting, by: "me"}
	ending := &instance{id: "ending", phase: ending, by: "me"}
	held := &instance{id: "held", phase: connected, by: "me", owned: true}
	orphan := &instance{id: "orphan", phase: connected, by: "me", owned: true, orphanAt: minute(12)}
	tests := []struct {
		name string
		of   []*instance
		want string
		at   time.Time
	}{
		{"the least recently used goes", []*instance{mine("recent", time.Second), mine("old", time.Minute)}, "old", time.Time{}},
		{"one in use stays", []*instance{leased, mine("recent", time.Second)}, "recent", time.Time{}},
		{"one that is waited for stays", []*instance{awaited}, "", time.Time{}},
		{"one that is starting or ending is none", []*instance{starting, ending}, "", time.Time{}},
		{"an open session's own stays", []*instance{held, mine("recent", time.Second)}, "recent", time.Time{}},
		{"a closed session's own goes", []*instance{held, orphan}, "orphan", time.Time{}},
		{"there is none", nil, "", time.Time{}},
		{"mine goes before yours, whichever is older", []*instance{yours("older", time.Hour), mine("mine", 0)}, "mine", time.Time{}},
		{"yours goes when mine are in use", []*instance{leased, yours("a", time.Minute), yours("b", time.Hour)}, "b", time.Time{}},
		{"yours stays while it is fresh and you have no more than I", []*instance{leased, yours("fresh", 4*time.Second)}, "", now.Add(6 * time.Second)},
		{"yours goes, fresh or not, when you have more than I", []*instance{yours("fresh", time.Second)}, "fresh", time.Time{}},
		{"of yours that are fresh none goes while another is not", []*instance{leased, starting, yours("fresh", time.Second), yours("stale", time.Minute)}, "stale", time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			in, at := victim(tt.of, "me", now)
			if in != nil {
				got = in.id
			}
			if got != tt.want || !at.Equal(tt.at) {
				t.Errorf("victim: got %q, or one at %s; want %q, or one at %s", got, at, tt.want, tt.at)
			}
		})
	}
}

func TestAccountLendsAsManyInARowAndThenSoManyAMinute(t *testing.T) {
	var a account
	var started []time.Duration
	for now := minute(1); now.Before(minute(4)); now = now.Add(time.Second / 2) {
		for !now.Before(a.opens()) {
			a = a.charge(now)
			started = append(started, now.Sub(minute(1)))
		}
	}
	if len(started) != 30+89 {
		t.Errorf("in three minutes: got %d starts, want 30 at once and 30 a minute from then on", len(started))
	}
	if diff := cmp.Diff([]time.Duration{0, 0, 2 * time.Second, 4 * time.Second}, started[28:32]); diff != "" {
		t.Errorf("around the thirtieth (-want +got):\n%s", diff)
	}
	if a = account(minute(1)).charge(minute(9)); !time.Time(a).Equal(minute(9).Add(2 * time.Second)) {
		t.Errorf("after a rest: got %s, want all but one lent again", time.Time(a))
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
