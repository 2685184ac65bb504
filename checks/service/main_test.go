// Package service tests the built mcpx as a service manager runs it: on sockets
// that are passed to it, in an environment that is nobody's, and with a config
// that is swapped under it by way of links.
package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
	"github.com/dezren39/mcpx/pkg/api"
)

// The programs under test, built once.
var mcpx, fakemcp string

// newer is mcpx with an API number that no mcpx has yet.
var newer string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "activate" {
		os.Exit(activate(os.Args[2:]))
	}
	os.Exit(rig.Main(m, func(dir string, bins []string) (err error) {
		mcpx, fakemcp = bins[0], bins[1]
		newer, err = buildNewer(dir)
		return err
	}, "github.com/dezren39/mcpx/cmd/mcpx", "github.com/dezren39/mcpx/checks/fakemcp"))
}

// buildNewer builds mcpx as it will be once its API number has changed.
func buildNewer(dir string) (bin string, err error) {
	hello, err := filepath.Abs("../../pkg/api/hello.go")
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(hello)
	if err != nil {
		return "", err
	}
	now := fmt.Sprintf("const Version = %d\n", api.Version)
	if !bytes.Contains(source, []byte(now)) {
		return "", fmt.Errorf("%s has no %q", hello, now)
	}
	changed, overlay := filepath.Join(dir, "hello.go"), filepath.Join(dir, "overlay.json")
	source = bytes.Replace(source, []byte(now), fmt.Appendf(nil, "const Version = %d\n", api.Version+1), 1)
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{hello: changed}})
	if err := errors.Join(err, os.WriteFile(changed, source, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	bin = filepath.Join(dir, "newer", "mcpx")
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", bin, "github.com/dezren39/mcpx/cmd/mcpx")
	cmd.Stderr = os.Stderr
	return bin, cmd.Run()
}

// activate becomes a program, as the last step of a service manager does: only
// there is the pid known that the sockets are meant for.
func activate(argv []string) int {
	pid := strconv.Itoa(os.Getpid())
	err := syscall.Exec(argv[0], argv, append(os.Environ(), "LISTEN_PID="+pid, "SYSTEMD_EXEC_PID="+pid))
	fmt.Fprintln(os.Stderr, err)
	return 1
}
