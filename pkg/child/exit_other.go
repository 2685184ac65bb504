//go:build !linux

package child

import "os/exec"

// awaitExit returns when cmd has ended; here it is reaped by then.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
