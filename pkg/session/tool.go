package session

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/wire"
)

// ToolSchema is what the arguments of a tool are, as far as its server's list is
// kept, for a tool whose schema says something of headers; nil for any other. name
// is as this host calls it.
func (c *Conn) ToolSchema(name string) []byte {
	st, server := c.guess(), c.o.Hello.Server
	if c.roof != nil {
		t, ok := c.find(st, c.visible(st), roof.Tools, name)
		if !ok {
			return nil
		}
		server, name = t.Server, t.Item
	}
	v := st.judge(server)
	if v.server == nil {
		return nil
	}
	cat, kept := c.o.Servers.Catalogue(v.server)
	if !kept || !bytes.Contains(cat.Lists["tools/list"], []byte("x-mcp-header")) {
		return nil
	}
	list := cat.Lists["tools/list"]
	at, _ := wire.Member(list, "tools")
	all := list[at.Start:at.End]
	for el := range wire.Elements(all) {
		if tool := all[el.Start:el.End]; toolName(tool) == name {
			at, _ := wire.Member(tool, "inputSchema")
			return tool[at.Start:at.End]
		}
	}
	return nil
}
