package hostfile

import (
	"fmt"
	"strings"
)

// vscode's own file has "servers" where others have "mcpServers".
func vscode() Host {
	f := object{path: []string{"servers"}, spell: spelling{
		env: "env", headers: "headers", url: []string{"url"}, local: "stdio", remote: "http",
	}}
	return Host{
		Name: "vscode", Title: "VS Code", File: "mcp.json",
		Places: []Place{
			{".config/Code/User/mcp.json", false}, {"Library/Application Support/Code/User/mcp.json", false},
			{".vscode/mcp.json", true},
		},
		Doc:  "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
		form: f,
		register: func(s Entry, l Level) string {
			if l == Project {
				return edit(".vscode/mcp.json", "servers."+s.Name, f.spell.oneLine(s))
			}
			named := f.spell
			named.always = map[string]any{"name": s.Name}
			named.local = "" // the option takes no type
			return shell("code", "--add-mcp", named.oneLine(s))
		},
	}
}

func cursor() Host {
	f := mcpServers(spelling{local: "stdio"})
	return Host{
		Name: "cursor", Title: "Cursor", File: "mcp.json",
		Places: []Place{{".cursor/mcp.json", false}, {".cursor/mcp.json", true}},
		Doc:    "https://cursor.com/docs/mcp",
		form:   f,
		register: func(s Entry, l Level) string {
			file := "~/.cursor/mcp.json"
			if l == Project {
				file = ".cursor/mcp.json"
			}
			return edit(file, "mcpServers."+s.Name, f.spell.oneLine(s))
		},
	}
}

// zed keeps its entries among all other settings, with comments.
func zed() Host {
	f := object{path: []string{"context_servers"}, spell: spelling{
		env: "env", headers: "headers", url: []string{"url"},
		always: map[string]any{"env": map[string]string{}}, ignored: []string{"source"},
	}}
	return Host{
		Name: "zed", Title: "Zed", File: "settings.json",
		Places: []Place{{".config/zed/settings.json", false}, {".zed/settings.json", true}},
		Doc:    "https://zed.dev/docs/ai/mcp",
		form:   f,
		register: func(s Entry, l Level) string {
			file := "~/.config/zed/settings.json"
			if l == Project {
				file = ".zed/settings.json"
			}
			return edit(file, "context_servers."+s.Name, f.spell.oneLine(s))
		},
	}
}

// homeManager is the file that home-manager's programs.mcp writes, and whose
// entries are what programs.mcp.servers takes:
//
//	programs.mcp.servers = (lib.importJSON ./mcp.json).mcpServers;
func homeManager() Host {
	f := mcpServers(spelling{off: "disabled"})
	return Host{
		Name: "home-manager", Title: "home-manager programs.mcp", File: "mcp.json",
		Places: []Place{{".config/mcp/mcp.json", false}},
		Doc:    "https://github.com/nix-community/home-manager/blob/master/modules/programs/mcp.nix",
		form:   f,
		register: func(s Entry, _ Level) string {
			return edit("your home-manager configuration", "programs.mcp.servers."+s.Name, nix(s))
		},
	}
}

// nix is the entry as a Nix expression.
func nix(s Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ command = %s; args = [ ", nixString(s.Command))
	for _, a := range s.Args {
		b.WriteString(nixString(a) + " ")
	}
	return b.String() + "]; }"
}

func nixString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", `\${`, "\n", `\n`).Replace(s) + `"`
}
