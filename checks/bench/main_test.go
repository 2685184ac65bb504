// Package bench measures what mcpx costs beside the direct path, in the same
// run: go test -bench . ./checks/bench. The host side is a driver that writes a
// line and reads a line, so that both paths pay the same for it. On a machine
// that does other things too, only the ratios and the medians say something.
//
// The figures of a benchmark named .../mcpx: p50-µs and p99-µs are of a round
// trip, x-direct is its median over that of direct calls made in turn with it,
// cpu-µs/call is what the daemon used, shim-µs/call what the sleeping shim did.
// BenchmarkNoise has them twice: noisy-p99-µs is of the calls that were made
// while another session was loud.
package bench

import (
	"fmt"
	"os"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// The programs under test, built once.
var mcpx, echo, fakemcp string

func TestMain(m *testing.M) {
	if err := os.Setenv("CGO_ENABLED", "0"); err != nil { // as it is shipped
		panic(err)
	}
	os.Exit(rig.Main(m, func(_ string, bins []string) error {
		mcpx, echo, fakemcp = bins[0], bins[1], bins[2]
		return nil
	}, "github.com/dezren39/mcpx/cmd/mcpx", "github.com/dezren39/mcpx/checks/bench/echo", "github.com/dezren39/mcpx/checks/fakemcp"))
}

// newRig is a machine with the servers sdk and raw, which speak to mcpx as they
// do to the benchmark. modern is sdk again, as it is found by the probe: it is
// sent the members of the modern era with each call, and takes longer to read
// them.
func newRig(t testing.TB) *rig.Rig {
	return rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {
		"sdk": {"command": %[1]q, "mcpx": {"protocol": "legacy"}},
		"modern": {"command": %[1]q},
		"raw": {"command": %[1]q, "args": ["raw"]}}}`, echo))
}

// direct starts the server itself, as a host without mcpx does.
func direct(t testing.TB, server string, by plumbing) *host {
	if server == "raw" {
		return start(t, by, os.Environ(), echo, "raw")
	}
	return start(t, by, os.Environ(), echo)
}

// through starts a connect to the server.
func through(r *rig.Rig, server string, by plumbing) *host {
	return start(r.T, by, r.Env, r.Bin, "connect", server)
}
