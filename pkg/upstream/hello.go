package upstream

import (
	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Our own requests of the handshake. mux counts its ids from 1 and never meets
// these; 0 is what the most used client opens with, so every server knows it.
var (
	probeID = []byte(`"mcpx-probe"`)
	initID  = []byte("0")
)

// Greeting is what a server is told of who asks and where it works. It is pure:
// the same greeting always gives the same bytes.
type Greeting struct {
	Version     string // mcpx's
	Workspace   spawn.Workspace
	ListChanged bool   // the roots are a session's and may change (design D5)
	Asks        []byte // capabilities beside roots, as members
}

func (g Greeting) clientInfo() []byte {
	info := append([]byte(`{"name":"mcpx","version":`), wire.AppendString(nil, g.Version)...)
	return append(info, '}')
}

// rootsCapability is the value of the roots capability, nil when the protocol's
// roots are not for this instance: none to offer, or refused by the config
// (report C10).
func (g Greeting) rootsCapability() []byte {
	switch {
	case !g.Workspace.Roots:
		return nil
	case g.ListChanged:
		return []byte(`{"listChanged":true}`)
	case g.Workspace.Root != "":
		return []byte(`{}`)
	}
	return nil
}

// Initialize is the line that opens a legacy server. It declares what is
// honoured for this instance and nothing else (report C11). The members of
// record 0004 §5 are added only when there is a root to tell; plain leaves them
// out, for servers that refuse them (report C13).
func (g Greeting) Initialize(plain bool) []byte {
	capabilities, tail := []byte(`{`), []byte(nil)
	if r := g.rootsCapability(); r != nil {
		capabilities = append(append(capabilities, `"roots":`...), r...)
	}
	if len(g.Asks) > 0 {
		if len(capabilities) > 1 {
			capabilities = append(capabilities, ',')
		}
		capabilities = append(capabilities, g.Asks...)
	}
	if members := g.members(plain); members != nil {
		if len(capabilities) > 1 {
			capabilities = append(capabilities, ',')
		}
		capabilities = append(capabilities, `"workspace":{"workspaceFolders":true}`...)
		tail = append([]byte{','}, members...)
	}
	params := append([]byte(`{"protocolVersion":`), wire.AppendString(nil, era.LegacyVersion)...)
	params = append(append(params, `,"capabilities":`...), capabilities...)
	params = append(append(params, `},"clientInfo":`...), g.clientInfo()...)
	return wire.AppendRequest(nil, initID, "initialize", append(append(params, tail...), '}'))
}

// RootsResult answers roots/list: with the session's own roots where there are
// some, else with the workspace; nil when the capability was not declared.
func (g Greeting) RootsResult(own func() []roots.Root) []byte {
	switch {
	case g.rootsCapability() == nil:
		return nil
	case own != nil:
		return roots.List(own())
	}
	return g.Workspace.RootsResult()
}

// HasChangingRoots reports whether a server of this era is to hear that the
// roots have changed: modern ones have no such notification.
func (g Greeting) HasChangingRoots(e Era) bool {
	return g.ListChanged && g.Workspace.Roots && e == Legacy
}

// Legacy is the handshake with a server that answered initialize.
func (g Greeting) Legacy(result []byte) Handshake {
	return Handshake{Era: Legacy, ProtocolVersion: ProtocolVersion(result), Result: result, Initialize: result, Roots: g.rootsCapability() != nil}
}

// Modern is the handshake with one that answered server/discover. server stands
// in for a name that it does not say.
func (g Greeting) Modern(result []byte, server string) (Handshake, error) {
	initialize, err := era.InitializeFromDiscover(result, server)
	return Handshake{
		Era: Modern, ProtocolVersion: era.ModernVersion, Result: result, Initialize: initialize, Meta: g.meta(), Roots: g.rootsCapability() != nil,
	}, err
}

// members are rootUri and workspaceFolders, nil when they are not to be sent.
func (g Greeting) members(plain bool) []byte {
	if plain {
		return nil
	}
	return g.Workspace.Members()
}

// Discover is the line that opens a modern server and probes an unknown one.
func (g Greeting) Discover(plain bool) []byte {
	params := wire.InsertMembers([]byte("{}"), g.members(plain))
	return wire.AppendRequest(nil, probeID, "server/discover", era.AddMeta(params, era.Meta{ClientInfo: g.clientInfo()}.Extra()))
}

// meta is what each later request to a modern server carries (design D5.3).
func (g Greeting) meta() era.Meta {
	return era.Meta{ClientInfo: g.clientInfo(), Workspace: g.Workspace.Object()}
}
