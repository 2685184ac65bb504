package child

import (
	"bytes"
	"os"
)

// overflow is the owner that files of users without a number here seem to have
// (user_namespaces(7)).
const overflow = 65534

// unmappedRoot is overflow in a user namespace that has no root, as the sandbox
// of an agent or of Nix is: there the system's own directories look so. Else -1.
func unmappedRoot() int {
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return -1
	}
	// Lines of: first number inside, first outside, how many.
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "0" {
			return -1
		}
	}
	return overflow
}
