package hostfile

// opencode puts program and arguments into one list. Its version 2 has the
// entries one level deeper, and turns them off rather than on: both are read,
// and version 1 is written, which is what was tried.
func opencode() Host {
	f := object{
		path: []string{"mcp"}, other: []string{"mcp", "servers"},
		head: map[string]any{"$schema": "https://opencode.ai/config.json"},
		spell: spelling{
			env: "environment", headers: "headers", url: []string{"url"},
			local: "local", remote: "remote", argv: true, on: "enabled",
		},
	}
	return Host{
		Name: "opencode", Title: "opencode", File: "opencode.json",
		Places: []Place{
			{".config/opencode/opencode.json", false}, {".config/opencode/opencode.jsonc", false},
			{"opencode.json", true}, {"opencode.jsonc", true}, {".opencode/opencode.json", true},
		},
		Doc: "https://opencode.ai/v1/docs/mcp-servers", Tried: "1.18.33",
		form: f,
		register: func(e Entry, l Level) string {
			file := "~/.config/opencode/opencode.json"
			if l == Project {
				file = "opencode.json"
			}
			return edit(file, "mcp."+e.Name, f.spell.oneLine(e))
		},
	}
}
