package hostfile

// opencode puts program and arguments into one list. Its version 2 has the
// entries one level deeper, and turns them off rather than on; it goes on
// reading what version 1 did (https://opencode.ai/docs/migrate-v1). So both are
// read, and version 1 is written.
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
			if l == Project { // version 1 adds to the user's file only
				return edit("opencode.json", "mcp."+e.Name, f.spell.oneLine(e))
			}
			return shell(append([]string{"opencode", "mcp", "add", e.Name, "--", e.Command}, e.Args...)...)
		},
	}
}
