package e2e

import (
	"fmt"
	"os"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// descriptors is how many the daemon has open, once that is the same for a while.
func descriptors(r *rig.Rig) (n int) {
	r.T.Helper()
	same := 0
	r.Until("the daemon is at rest", func(s api.Status) bool {
		now := opened(s.Daemon.PID)
		if same++; now != n {
			n, same = now, 0
		}
		return same == 20
	})
	return n
}

// fewer reports whether the daemon has no more open than n. Where the system does
// not tell, it has.
func fewer(pid, n int) bool { return opened(pid) <= n }

func opened(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(entries)
}
