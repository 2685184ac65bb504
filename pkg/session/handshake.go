package session

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// legacyVersions are the revisions a host may open with initialize, oldest first.
var legacyVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// families are the kinds of things a server offers.
type families struct{ tools, prompts, resources bool }

func (f families) has(kind string) bool {
	switch kind {
	case "tools":
		return f.tools
	case "prompts":
		return f.prompts
	}
	return f.resources
}

// initialize answers the host's handshake before its scope may be known (design
// D14): from the kept catalogue, else from the instance when the directory is
// certain, else with a superset. A name in no file is an error at once, unless
// the host has yet to say where it is.
func (c *Conn) initialize(id []byte, mark int64) {
	defer c.done(mark)
	defer c.greeted()
	if c.roof != nil {
		c.reply(wire.AppendResult(nil, id, c.welcome()))
		return
	}
	l := c.only()
	s := l.guess()
	if !s.verdict.known() && !c.facts().roots {
		c.stranger(s.verdict)
		c.refuse(id, wire.CodeInternal, s.verdict.reason, upstream.Trouble{Reason: s.verdict.reason, Hint: s.verdict.hint})
		return
	}
	c.reply(wire.AppendResult(nil, id, l.greeting(s)))
}

// greeted lets what came after initialize have its turn.
func (c *Conn) greeted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.met)
	c.met = nil
}

// unmet is closed when the answer to initialize is written; nil when none is
// awaited.
func (c *Conn) unmet() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.met
}

// meet notes what the host says of itself.
func (c *Conn) meet(env *wire.Envelope) {
	var p struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ClientInfo      json.RawMessage `json:"clientInfo"`
	}
	_ = json.Unmarshal(env.Bytes(env.Params), &p) // what is missing stays at its zero
	f := factsOf(era.Negotiate(p.ProtocolVersion), p.ClientInfo, p.Capabilities)
	c.mu.Lock()
	c.host = f
	c.keep()
	c.mu.Unlock()
}

// factsOf are a host's by its clientInfo and capabilities, as sent.
func factsOf(protocol string, clientInfo, capabilities []byte) hostFacts {
	var info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	_ = json.Unmarshal(clientInfo, &info) // a host without a name has none
	var caps struct {
		Roots *struct {
			ListChanged bool `json:"listChanged"`
		} `json:"roots"`
	}
	_ = json.Unmarshal(capabilities, &caps) // one that declares nothing has nothing
	f := hostFacts{
		name: info.Name, version: info.Version, protocol: protocol,
		clientInfo: clientInfo, capabilities: capabilities, modern: protocol == era.ModernVersion,
	}
	if caps.Roots != nil && !f.modern { // such a host cannot be asked
		f.roots, f.listChanged = true, caps.Roots.ListChanged
	}
	return f
}

func (c *Conn) facts() hostFacts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.host
}

// greeting is the result of initialize.
func (l *lane) greeting(s *spot) []byte {
	c := l.c
	host := c.facts()
	if s.verdict.server == nil {
		return superset(l.name, c.o.Version, host.protocol)
	}
	if cat, kept := c.o.Servers.Catalogue(s.verdict.server); kept {
		return shape(cat.Handshake, host.protocol)
	}
	if s.certain(c.o.Home) {
		ctx, cancel := context.WithTimeout(c.life, startWait)
		defer cancel()
		lease, err := l.lease(ctx, s)
		if err == nil {
			defer lease.Release()
			return shape(lease.Mux().Handshake().Initialize, host.protocol)
		}
		if ctx.Err() == nil {
			l.note(err) // the first list will be answered with it
		}
	}
	return superset(l.name, c.o.Version, host.protocol)
}

// superset promises every kind of list; those the server lacks are empty later.
func superset(server, version, protocol string) []byte {
	changes := map[string]bool{"listChanged": true}
	b, err := json.Marshal(map[string]any{
		"protocolVersion": protocol,
		"capabilities":    map[string]any{"tools": changes, "prompts": changes, "resources": changes},
		"serverInfo":      map[string]string{"name": server, "version": version},
	})
	if err != nil {
		panic(err) // strings and bools always marshal
	}
	return b
}

// shape makes a server's own answer fit this host: its revision, and lists that
// say when they change. Everything else stays as the server sent it.
func shape(result []byte, protocol string) []byte {
	if at, ok := wire.Member(result, "protocolVersion"); ok {
		var own string
		_ = json.Unmarshal(result[at.Start:at.End], &own) // else it is none that is known
		if slices.Contains(legacyVersions, own) {
			protocol = min(protocol, own) // they are dates
		}
	}
	quoted, _ := json.Marshal(protocol)
	result = wire.ReplaceMember(result, "protocolVersion", quoted)
	caps, ok := wire.Member(result, "capabilities")
	if !ok {
		return result
	}
	all := slices.Clone(result[caps.Start:caps.End])
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if at, ok := wire.Member(all, kind); ok {
			all = wire.ReplaceMember(all, kind, wire.ReplaceMember(all[at.Start:at.End], "listChanged", []byte("true")))
		}
	}
	return wire.ReplaceMember(result, "capabilities", all)
}

// offered reads which families a server's handshake declares.
func offered(result []byte) families {
	return families{
		tools:     upstream.Offers(result, "tools"),
		prompts:   upstream.Offers(result, "prompts"),
		resources: upstream.Offers(result, "resources"),
	}
}
