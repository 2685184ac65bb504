package spawn

import (
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/scope"
)

// Workspace is what a server is told about where it works. Root is the
// instance's root, "" when there is none or when it must not be offered (a root
// equal to or above home, design D2).
type Workspace struct {
	Root  string
	Roots bool // declare and answer the MCP roots capability (config "roots")
}

// workspace keeps home and what is above it to ourselves: offered as a root it
// makes a file server open everything (threat T24).
func workspace(root, home string, declare bool) Workspace {
	if scope.Under(home, root) {
		root = ""
	}
	return Workspace{Root: root, Roots: declare}
}

// Members are the bytes `"rootUri":…,"workspaceFolders":[{…}]`, to be spliced
// into an object that has other members (record 0004 §5); nil without a root,
// so that nothing changes then.
func (w Workspace) Members() []byte {
	if w.Root == "" {
		return nil
	}
	return roots.WorkspaceMembers(w.Root)
}

// Object is Members as an object of its own, for _meta["dev.mcpx/workspace"];
// nil without a root.
func (w Workspace) Object() []byte {
	if w.Root == "" {
		return nil
	}
	return append(append([]byte{'{'}, w.Members()...), '}')
}

// RootsResult is the result of roots/list, `{"roots":[{"uri":…,"name":…}]}`;
// nil without a root.
func (w Workspace) RootsResult() []byte {
	if w.Root == "" {
		return nil
	}
	return roots.List([]roots.Root{{URI: roots.URI(w.Root), Name: roots.Name(w.Root)}})
}
