package child

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit returns when cmd has ended and leaves the zombie: its number, which
// is its group's too, can belong to nobody else until cmd.Wait (threat T40).
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
