package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacy is what the hosts of today ask for (hosts.md §4).
const legacy = "2025-11-25"

// host is one agent program: the SDK's client on a `mcpx connect` process.
type host struct {
	session *mcp.ClientSession
	stderr  *bytes.Buffer // read only after the process has ended
}

// connect starts session number n of server in dir. It declares no roots, so
// that the directory it stands in is all that mcpx has to go by.
func (d *daemonProcess) connect(ctx context.Context, server, dir string, n int) (*host, error) {
	cmd := exec.Command(d.executable, "connect", server, "--runtime-dir", d.runtimeDir, "--session", fmt.Sprintf("demo-%d", n))
	cmd.Dir, cmd.Env = dir, append(d.environ, "PWD="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is ours to handle
	h := &host{stderr: &bytes.Buffer{}}
	cmd.Stderr = h.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpx-demo", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Second},
		&mcp.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		return nil, h.explain(err)
	}
	h.session = session
	return h, nil
}

func (h *host) call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	res, err := h.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, errors.New(tool + ": " + text(res))
	}
	return res, nil
}

// close ends the host's input and waits for the process.
func (h *host) close() {
	if h.session != nil {
		h.session.Close() // how a process ends is not what the demo is about
		h.session = nil
	}
}

// explain adds what connect wrote to stderr; it ends the session, for only then
// all of it is there.
func (h *host) explain(err error) error {
	h.close()
	if said := strings.TrimSpace(h.stderr.String()); said != "" {
		return fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}
