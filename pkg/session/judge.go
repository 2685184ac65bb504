package session

import (
	"fmt"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
)

// verdict is what a view says of one name.
type verdict struct {
	server *config.Resolved // nil: not for this session
	def    config.Definition
	state  string // in one word, why not
	reason string // in full
	hint   string
}

// Unknown is the state of a server that no file names.
const Unknown = "unknown"

func (v verdict) known() bool { return v.state != Unknown }

// judge says whether a session with this view may use the server called name.
func judge(view *config.Config, name string) verdict {
	if s := view.Servers[name]; s != nil {
		if s.Disabled {
			return verdict{state: "disabled", reason: "disabled", hint: `take "disabled" out of its mcpx block`}
		}
		return verdict{server: s, def: s.Definition()}
	}
	for _, u := range view.Untrusted {
		if u.Name == name {
			return verdict{state: "untrusted", reason: "untrusted: only " + u.File + " names it", hint: "read it, then: mcpx trust " + u.File}
		}
	}
	for _, p := range view.Problems {
		if p.Server == name && !p.Warning {
			return verdict{state: "invalid", reason: p.Error(), hint: p.Hint}
		}
	}
	hint := "the servers here are: " + strings.Join(view.Names, ", ")
	if len(view.Names) == 0 {
		hint = "no server is configured here: mcpx config --sources shows which files were read"
	}
	return verdict{state: Unknown, reason: fmt.Sprintf("no config file names a server %q", name), hint: hint}
}
