package hostfile

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"
)

// codex has one table an entry in config.toml. Tokens are not in the file: it
// names the variables that hold them.
func codex() Host {
	return Host{
		Name: "codex", Title: "Codex", File: "config.toml",
		Places: []Place{{".codex/config.toml", false}, {".codex/config.toml", true}},
		Doc:    "https://developers.openai.com/codex/mcp", Tried: "0.171.0",
		form: tables{},
		register: func(s Entry, l Level) string {
			if l == Project { // codex mcp add knows the user's file only
				return edit(".codex/config.toml", "[mcp_servers."+s.Name+"]", fmt.Sprintf("command = %s, args = %s", jsonLine(s.Command), jsonLine(s.Args)))
			}
			return shell(append([]string{"codex", "mcp", "add", s.Name, "--", s.Command}, s.Args...)...)
		},
	}
}

// tables is the form of Codex.
type tables struct{}

func (tables) encode(entries []Entry) ([]byte, error) {
	servers := map[string]any{}
	for _, e := range entries {
		m := map[string]any{}
		if e.URL != "" {
			m["url"] = e.URL
			if len(e.Headers) > 0 {
				m["http_headers"] = e.Headers
			}
		} else {
			m["command"], m["args"] = e.Command, append([]string{}, e.Args...)
			if len(e.Env) > 0 {
				m["env"] = e.Env
			}
			if e.Cwd != "" {
				m["cwd"] = e.Cwd
			}
		}
		if e.Disabled {
			m["enabled"] = false
		}
		servers[e.Name] = m
	}
	var b bytes.Buffer
	enc := toml.NewEncoder(&b)
	enc.Indent = ""
	err := enc.Encode(map[string]any{"mcp_servers": servers})
	return b.Bytes(), err
}

func (tables) decode(file string, data []byte, _ string) ([]Entry, error) {
	doc, err := parseTOML(file, data)
	if err != nil {
		return nil, err
	}
	s := spelling{env: "env", headers: "http_headers", url: []string{"url"}, on: "enabled"}
	return s.entries(dig(doc, []string{"mcp_servers"})), nil
}
