// Package manage is an MCP server of mcpx's own, for a config that names it: by
// it a model sees what its session has, and, where the user's daemon block says
// so, chooses among the roots that the session has. What it may do is the
// daemon's decision (design D10, threat T8).
package manage

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/scope"
)

// Status is the answer of the tool mcpx_status.
type Status struct {
	Session  *api.SessionStatus `json:"session,omitempty" jsonschema:"the session that asks, with its servers and how each is"`
	Problems []api.Problem      `json:"problems" jsonschema:"what a person should mend"`
}

// RootsRequest are the arguments of the tool mcpx_roots.
type RootsRequest struct {
	Op   string   `json:"op" jsonschema:"add, remove or set"`
	Dirs []string `json:"dirs" jsonschema:"directories, inside of the roots that the session has"`
}

// Serve answers on stdin and stdout, with the tools of daemon.managementTools, of
// which nil means what only reads.
func Serve(ctx context.Context, version, runtimeDir string, tools []config.ManagementTool) error {
	m := &manager{runtimeDir: runtimeDir}
	s := mcp.NewServer(&mcp.Implementation{Name: "mcpx", Version: version}, nil)
	yes, no := true, false
	if tools == nil || slices.Contains(tools, config.ManageStatus) {
		mcp.AddTool(s, &mcp.Tool{
			Name: "mcpx_status", Description: "where this session works, which MCP servers it sees and why, and whether each can be used",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
		}, m.status)
	}
	if slices.Contains(tools, config.ManageRoots) {
		mcp.AddTool(s, &mcp.Tool{
			Name: "mcpx_roots", Description: "changes where this session works, within the roots that it has",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no},
		}, m.roots)
	}
	return s.Run(ctx, &mcp.StdioTransport{})
}

type manager struct{ runtimeDir string }

func (m *manager) status(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, Status, error) {
	c, s, err := m.ask(ctx)
	if err != nil {
		return nil, Status{}, err
	}
	defer c.Close()
	return nil, Status{Session: own(s), Problems: s.Problems}, nil
}

func (m *manager) roots(ctx context.Context, _ *mcp.CallToolRequest, req RootsRequest) (*mcp.CallToolResult, api.SessionStatus, error) {
	c, s, err := m.ask(ctx)
	if err != nil {
		return nil, api.SessionStatus{}, err
	}
	defer c.Close()
	mine := own(s)
	if mine == nil {
		return nil, api.SessionStatus{}, fmt.Errorf(`this server belongs to no session: give it "scope": "session"`)
	}
	now, err := c.Roots(ctx, mine.ID, api.RootsRequest{Op: req.Op, Dirs: req.Dirs})
	if err != nil {
		return nil, api.SessionStatus{}, err
	}
	return nil, *now, nil
}

func (m *manager) ask(ctx context.Context) (*api.Client, *api.Status, error) {
	c, err := api.Open(m.runtimeDir)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		_ = c.Close()
		return nil, nil, err
	}
	return c, s, nil
}

// own is the session whose instance this process is, or is below.
func own(s *api.Status) *api.SessionStatus {
	pids := []int{os.Getpid()}
	for _, p := range proc.Ancestors(os.Getpid(), 8) {
		pids = append(pids, p.PID)
	}
	for _, in := range s.Instances {
		if in.PID == 0 || !slices.Contains(pids, in.PID) {
			continue
		}
		for i := range s.Sessions {
			if in.Key == scope.Session.Key(scope.CallContext{Session: s.Sessions[i].ID}) {
				return &s.Sessions[i]
			}
		}
	}
	return nil
}
