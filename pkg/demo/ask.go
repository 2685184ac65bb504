package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/roots"
)

// server is the entry that the demo's daemon gets, and how to ask the server
// what it sees.
type server struct {
	name  string
	entry map[string]any
	tool  string
	args  map[string]any
	ask   func(ctx context.Context, h *host, d *daemonProcess, checkout string) (Session, error)
}

// server is the embedded one, or gopls: from PATH, else built by go.
func (o Options) server() (server, error) {
	if !o.Gopls {
		return server{
			name: "demo", tool: "exported", args: map[string]any{}, ask: askDemo,
			entry: map[string]any{"command": o.Executable, "args": []string{"demo-server"}, "mcpx": map[string]any{"scope": "worktree"}},
		}, nil
	}
	s := server{
		name: "gopls", tool: "go_package_api", ask: askGopls,
		args: map[string]any{"packagePaths": []string{"example.com/shop"}},
	}
	env := map[string]string{"HOME": o.Home}
	if path, ok := lookPath(o.Environ, "gopls"); ok {
		s.entry = map[string]any{"command": path, "args": []string{"mcp"}, "env": env, "mcpx": map[string]any{"scope": "worktree"}}
		return s, nil
	}
	path, ok := lookPath(o.Environ, "go")
	if !ok {
		return s, errors.New("neither gopls nor go is on PATH")
	}
	s.entry = map[string]any{
		"command": path, "args": []string{"run", "golang.org/x/tools/gopls@v0.23.0", "mcp"}, "env": env,
		"mcpx": map[string]any{"scope": "worktree", "protocol": "legacy", "startTimeout": "10m"},
	}
	return s, nil
}

// lookPath finds a program in the PATH of environ; relative entries do not count.
func lookPath(environ []string, name string) (string, bool) {
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

func lookup(environ []string, name string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// askDemo lets the embedded server say itself who it is.
func askDemo(ctx context.Context, h *host, _ *daemonProcess, _ string) (Session, error) {
	res, err := h.call(ctx, "exported", map[string]any{})
	if err != nil {
		return Session{}, err
	}
	var api Exported
	if err := structured(res, &api); err != nil {
		return Session{}, err
	}
	if res, err = h.call(ctx, "whoami", map[string]any{}); err != nil {
		return Session{}, err
	}
	var me WhoAmI
	if err := structured(res, &me); err != nil {
		return Session{}, err
	}
	cwd, err := canon.Path(me.Cwd)
	if err != nil {
		return Session{}, err
	}
	return Session{PID: me.PID, RunIn: cwd, Roots: me.Roots, Saw: api.Functions}, nil
}

// askGopls looks at the text of the answer: a failed answer of gopls is an
// empty success. Which process gave it, the daemon knows.
func askGopls(ctx context.Context, h *host, d *daemonProcess, checkout string) (Session, error) {
	res, err := h.call(ctx, "go_package_api", map[string]any{"packagePaths": []string{"example.com/shop"}})
	if err != nil {
		return Session{}, err
	}
	s := Session{}
	for _, name := range []string{"OnlyOnMain", "OnlyOnFeature"} {
		if strings.Contains(text(res), name) {
			s.Saw = append(s.Saw, name)
		}
	}
	status, err := d.status(ctx)
	if err != nil {
		return s, err
	}
	for _, in := range status.Instances {
		if in.Root == checkout {
			s.PID, s.RunIn, s.Roots = in.PID, in.Cwd, []string{roots.URI(in.Root)}
			return s, nil
		}
	}
	return s, fmt.Errorf("no process of gopls belongs to %s", checkout)
}

func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func structured(res *mcp.CallToolResult, v any) error {
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
