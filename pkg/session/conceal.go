package session

import (
	"github.com/dezren39/mcpx/pkg/roof"
	"github.com/dezren39/mcpx/pkg/wire"
)

// conceals reports whether a request is for a server that the session does not
// see, and writes into m which, so that the refusal can say why. It guesses no
// owner of a resource.
func (c *Conn) conceals(st *stand, m *message, name string) bool {
	hidden := st.those(verdict.hidden)
	if len(hidden) == 0 {
		return false
	}
	var uri wire.Span
	switch name {
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		uri = m.URI
	case "completion/complete":
		uri = m.RefURI
	}
	if uri.Empty() {
		return c.aim(st, hidden, m, name)
	}
	t, ok := roof.TemplateOwner(m.Text(uri), c.table(st, hidden, roof.Resources), c.table(st, hidden, roof.Templates))
	m.server = t.Server
	return ok && !t.Guessed
}
