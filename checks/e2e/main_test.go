// Package e2e tests the built mcpx as its users meet it: real daemons, real
// connects, real servers that are good or bad on purpose.
package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// The programs under test, built once.
var mcpx, fakemcp string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "mirror" {
		os.Exit(mirror(os.Args[2]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bins, err := rig.Build(dir, "github.com/dezren39/mcpx/cmd/mcpx", "github.com/dezren39/mcpx/checks/fakemcp")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mcpx, fakemcp = bins[0], bins[1]
	return m.Run()
}
