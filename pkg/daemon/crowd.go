package daemon

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/dezren39/mcpx/pkg/api"
)

// crowded refuses a session when the descriptors run out: those that are open
// keep what they need to start servers and to end (threat T17). nil: there is
// room. Pure.
func crowded(used, limit int) *api.Error {
	if limit <= 0 || used < limit-limit/10 {
		return nil
	}
	return &api.Error{
		Msg:  fmt.Sprintf("the daemon has %d of %d descriptors open and takes no more sessions", used, limit),
		Hint: "close some sessions (mcpx status), or raise the limit of open files where the daemon is started (ulimit -n, LimitNOFILE=)",
	}
}

// descriptors are how many are open and how many may be; 0 where the system does
// not say.
func descriptors() (used, limit int) {
	var rl unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &rl); err != nil {
		return 0, 0
	}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 0, 0
	}
	return len(entries), int(min(rl.Cur, 1<<30))
}
