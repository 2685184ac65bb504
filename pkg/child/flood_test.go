package child

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAFloodOfStderrIsReadSlowly: a burst is read at once, what goes on is not,
// and a server that was quiet for a while may burst again.
func TestAFloodOfStderrIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flood{left: floodBurst}
		write := func(bytes int) time.Duration {
			began := time.Now()
			for ; bytes > 0; bytes -= 1 << 10 {
				f.wait(min(bytes, 1<<10))
			}
			return time.Since(began)
		}
		if took := write(floodBurst - 1<<10); took != 0 {
			t.Errorf("a burst took %v", took)
		}
		const mib = 1 << 20
		if took, want := write(mib), floodPause*mib/floodStep; took < want/2 || took > 2*want {
			t.Errorf("1 MiB more took %v, want about %v", took, want)
		}
		time.Sleep(floodCalm + 1)
		if took := write(floodBurst - 1<<10); took != 0 {
			t.Errorf("after a pause a burst took %v", took)
		}
	})
}
