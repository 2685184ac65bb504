package bench

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// quantile is the q-th of some durations, in microseconds; it sorts them.
func quantile(took []time.Duration, q float64) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	at := min(int(q*float64(len(took))), len(took)-1)
	return float64(took[at].Nanoseconds()) / 1e3
}

// cpu is the time that a process has used, in user and in kernel mode, to the
// nanosecond: Linux has a clock for each process (clock_getcpuclockid(3)).
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		t.Skipf("no processor clock of process %d: %v", pid, err)
	}
	return time.Duration(ts.Nano())
}

// anonymous is the memory that a process has to itself, in KiB.
func anonymous(t testing.TB, pid int) float64 {
	t.Helper()
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		t.Skip("no smaps_rollup: ", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "Anonymous:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib
		}
	}
	t.Fatalf("smaps_rollup of process %d has no Anonymous", pid)
	return 0
}

// perCall is a duration over a number of calls, in microseconds.
func perCall(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1e3 / float64(max(n, 1))
}
