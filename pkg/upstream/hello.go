package upstream

import (
	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Our own requests of the handshake. mux counts its ids from 1 and never meets
// these; 0 is what the most used client opens with, so every server knows it.
var (
	probeID = []byte(`"mcpx-probe"`)
	initID  = []byte("0")
)

// greeting is what a server is told of who asks and where it works. It is pure:
// the same greeting always gives the same bytes.
type greeting struct {
	version     string // mcpx's
	workspace   spawn.Workspace
	listChanged bool // the roots are a session's and may change (design D5)
}

func (g greeting) clientInfo() []byte {
	info := append([]byte(`{"name":"mcpx","version":`), wire.AppendString(nil, g.version)...)
	return append(info, '}')
}

// rootsCapability is the value of the roots capability, nil when the protocol's
// roots are not for this instance: none to offer, or refused by the config
// (report C10).
func (g greeting) rootsCapability() []byte {
	switch {
	case !g.workspace.Roots:
		return nil
	case g.listChanged:
		return []byte(`{"listChanged":true}`)
	case g.workspace.Root != "":
		return []byte(`{}`)
	}
	return nil
}

// initialize is the line that opens a legacy server. It declares what is
// honoured for this instance and nothing else (report C11). The members of
// record 0004 §5 are added only when there is a root to tell; plain leaves them
// out, for servers that refuse them (report C13).
func (g greeting) initialize(plain bool) []byte {
	capabilities, tail := []byte(`{`), []byte(nil)
	if r := g.rootsCapability(); r != nil {
		capabilities = append(append(capabilities, `"roots":`...), r...)
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

// members are rootUri and workspaceFolders, nil when they are not to be sent.
func (g greeting) members(plain bool) []byte {
	if plain {
		return nil
	}
	return g.workspace.Members()
}

// discover is the line that opens a modern server and probes an unknown one.
func (g greeting) discover(plain bool) []byte {
	params := wire.InsertMembers([]byte("{}"), g.members(plain))
	return wire.AppendRequest(nil, probeID, "server/discover", era.AddMeta(params, era.Meta{ClientInfo: g.clientInfo()}.Extra()))
}

// meta is what each later request to a modern server carries (design D5.3).
func (g greeting) meta() era.Meta {
	return era.Meta{ClientInfo: g.clientInfo(), Workspace: g.workspace.Object()}
}
