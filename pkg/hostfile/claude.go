package hostfile

import "strings"

// mcpServers is the form that Claude Desktop brought into the world and most
// hosts took over.
func mcpServers(s spelling) object {
	if s.env == "" {
		s.env = "env"
	}
	if s.headers == "" {
		s.headers = "headers"
	}
	if s.url == nil {
		s.url = []string{"url"}
	}
	return object{path: []string{"mcpServers"}, spell: s}
}

// claudeCode reads entries of three levels: .mcp.json of the project, and in
// ~/.claude.json those of the user and, under "projects", those of the user for
// one project, which is where claude mcp add puts them unless told otherwise.
func claudeCode() Host {
	f := mcpServers(spelling{remote: "http"})
	f.local = true
	return Host{
		Name: "claude-code", Title: "Claude Code", File: ".mcp.json",
		Places: []Place{{".claude.json", false}, {".mcp.json", true}},
		Doc:    "https://code.claude.com/docs/en/mcp", Tried: "2.1.197",
		form: f,
		// claude mcp add refuses a name that is taken, and one with a dot or a
		// space, which in the file is fine.
		register: func(s Entry, l Level) string {
			if strings.ContainsFunc(s.Name, func(r rune) bool { return r == '.' || special(r) }) {
				file := map[Level]string{User: "~/.claude.json", Project: ".mcp.json", Local: "~/.claude.json, under projects,"}[l]
				return edit(file, "mcpServers."+s.Name, f.spell.oneLine(s))
			}
			return shell("claude", "mcp", "remove", "--scope", string(l), s.Name) + "; " +
				shell(append([]string{"claude", "mcp", "add", "--scope", string(l), s.Name, "--", s.Command}, s.Args...)...)
		},
	}
}

func claudeDesktop() Host {
	f := mcpServers(spelling{})
	return Host{
		Name: "claude-desktop", Title: "Claude Desktop", File: "claude_desktop_config.json",
		Places: []Place{
			{".config/Claude/claude_desktop_config.json", false},
			{"Library/Application Support/Claude/claude_desktop_config.json", false},
		},
		Doc:  "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
		form: f,
		register: func(s Entry, _ Level) string {
			return edit("claude_desktop_config.json", "mcpServers."+s.Name, f.spell.oneLine(s))
		},
	}
}
