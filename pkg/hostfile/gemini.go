package hostfile

// gemini tells its two kinds of remote apart by the key: "url" is the old SSE
// transport, "httpUrl" streamable HTTP.
func gemini() Host {
	return Host{
		Name: "gemini", Title: "Gemini CLI", File: "settings.json",
		Places: []Place{{".gemini/settings.json", false}, {".gemini/settings.json", true}},
		Doc:    "https://geminicli.com/docs/tools/mcp-server", Tried: "0.61.0",
		form: mcpServers(spelling{url: []string{"httpUrl", "url"}}),
		// A "--" keeps its own parser away from our flags, and is dropped.
		register: func(s Entry, l Level) string {
			words := []string{"gemini", "mcp", "add", "--scope", string(l), s.Name, s.Command}
			for i, a := range s.Args {
				if len(a) > 0 && a[0] == '-' {
					words = append(append(words, "--"), s.Args[i:]...)
					return shell(words...)
				}
				words = append(words, a)
			}
			return shell(words...)
		},
	}
}
