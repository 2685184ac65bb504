// Package service tests the built mcpx as a service manager runs it: on sockets
// that are passed to it, in an environment that is nobody's, and with a config
// that is swapped under it by way of links.
package service

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// The programs under test, built once.
var mcpx, fakemcp string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "activate" {
		os.Exit(activate(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "service")
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

// activate becomes a program, as the last step of a service manager does: only
// there is the pid known that the sockets are meant for.
func activate(argv []string) int {
	pid := strconv.Itoa(os.Getpid())
	err := syscall.Exec(argv[0], argv, append(os.Environ(), "LISTEN_PID="+pid, "SYSTEMD_EXEC_PID="+pid))
	fmt.Fprintln(os.Stderr, err)
	return 1
}
