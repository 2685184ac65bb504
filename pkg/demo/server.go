package demo

//lint:file-ignore SA1019 a server of the legacy era is told its root by roots/list (design D5), deprecated or not

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// WhoAmI is the answer of the demo server's tool whoami: which process answered
// and what it was told.
type WhoAmI struct {
	PID             int      `json:"pid"`
	Cwd             string   `json:"cwd"`
	Roots           []string `json:"roots"`
	RootsError      string   `json:"rootsError,omitempty"`
	ProtocolVersion string   `json:"protocolVersion"`
	Client          string   `json:"client"`
	DeclaredRoots   bool     `json:"declaredRoots"`
}

// Exported is the answer of the tool exported.
type Exported struct {
	Functions []string `json:"functions"`
}

// Serve is the demo's MCP server on stdin and stdout. Like gopls it works on
// the directory it was started in.
func Serve(ctx context.Context, version string) error {
	return newServer(version).Run(ctx, &mcp.StdioTransport{})
}

func newServer(version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcpx-demo", Version: version},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	mcp.AddTool(s, &mcp.Tool{Name: "whoami", Description: "which process this is, where it runs and what it was told"}, whoAmI)
	mcp.AddTool(s, &mcp.Tool{Name: "exported", Description: "the exported functions of the Go files here"}, exported)
	return s
}

func whoAmI(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, WhoAmI, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, WhoAmI{}, err
	}
	me := WhoAmI{PID: os.Getpid(), Cwd: cwd, Roots: []string{}, ProtocolVersion: req.ProtocolVersion()}
	if client := req.ClientInfo(); client != nil {
		me.Client = client.Name
	}
	if caps := req.ClientCapabilities(); caps != nil {
		me.DeclaredRoots = caps.RootsV2 != nil
	}
	// A modern server cannot ask: it is told with each request (design D5).
	if uri := workspaceRoot(req.Params.Meta); uri != "" {
		me.Roots = append(me.Roots, uri)
		return nil, me, nil
	}
	roots, err := req.Session.ListRoots(ctx, nil)
	if err != nil {
		me.RootsError = err.Error()
		return nil, me, nil
	}
	for _, r := range roots.Roots {
		me.Roots = append(me.Roots, r.URI)
	}
	return nil, me, nil
}

func workspaceRoot(meta mcp.Meta) string {
	workspace, _ := meta["dev.mcpx/workspace"].(map[string]any)
	uri, _ := workspace["rootUri"].(string)
	return uri
}

func exported(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, Exported, error) {
	names, err := exportedIn(".")
	return nil, Exported{Functions: names}, err
}

// exportedIn names the exported functions of the Go files in dir, sorted.
func exportedIn(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, f := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
				names = append(names, fn.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
