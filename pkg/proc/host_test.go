package proc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHost(t *testing.T) {
	claude := Info{ID: ID{PID: 7, Start: 70}, Argv: []string{"claude", "--continue"}}
	launcher := func(argv ...string) Info { return Info{ID: ID{PID: 8, Start: 80}, Argv: argv} }
	tests := []struct {
		name     string
		launcher Info
	}{
		{"a shell with the command in one string", launcher("/bin/sh", "-c", "exec mcpx connect gopls")},
		{"a shell with the command at the end of a list", launcher("bash", "-lc", "cd /src;mcpx connect")},
		{"a login shell", launcher("-zsh", "-c", "mcpx connect")},
		{"a wrapper script", launcher("/bin/dash", "/usr/local/bin/mcpx-here", "connect", "gopls")},
		{"a shell in a path with a space", launcher("/opt/My Tools/fish", "-c", "mcpx connect")},
		{"env", launcher("env", "A=b", "mcpx", "connect")},
		{"npx", launcher("npx", "-y", "mcpx", "connect", "gopls")},
		{"npm under the title it gives itself", launcher("npm exec @dezren39/mcpx connect gopls")},
		{"npx as the script it is", launcher("node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "mcpx", "connect")},
		{"npm run as node", launcher("/usr/bin/node", "/usr/bin/npm", "exec", "mcpx", "connect")},
		{"pnpm run as node", launcher("node", "/usr/lib/pnpm/bin/pnpm.cjs", "dlx", "mcpx", "connect")},
		{"bunx", launcher("bunx", "mcpx", "connect")},
		{"uvx", launcher("/root/.local/bin/uvx", "mcpx", "connect")},
		{"nix run", launcher("nix", "run", "github:dezren39/mcpx", "--", "connect", "gopls")},
		{"direnv", launcher("direnv", "exec", ".", "mcpx", "connect")},
		{"timeout", launcher("timeout", "1h", "mcpx", "connect")},
	}
	for _, tt := range tests {
		t.Run(tt.name+" is passed over", func(t *testing.T) {
			if diff := cmp.Diff(claude, Host([]Info{tt.launcher, tt.launcher, claude})); diff != "" {
				t.Errorf("Host (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostStopsAtTheFirstThatIsNoLauncher(t *testing.T) {
	parent := Info{ID: ID{PID: 1000, Start: 1}, Argv: []string{"claude"}}
	tests := []struct {
		name string
		argv []string
	}{
		{"a person's shell", []string{"-bash"}},
		{"a shell that runs a script without the word", []string{"bash", "./agent.sh"}},
		{"a shell whose word only contains connect", []string{"sh", "-c", "./reconnect --disconnect"}},
		{"a shell in a directory called connect", []string{"sh", "/src/connect/run.sh"}},
		{"a node host that has connect in its argv", []string{"node", "/opt/host/cli.js", "connect"}},
		{"a process without argv", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := Info{ID: ID{PID: 9, Start: 90}, Argv: tt.argv}
			if diff := cmp.Diff(host, Host([]Info{host, parent})); diff != "" {
				t.Errorf("Host (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostOfLaunchersAlone(t *testing.T) {
	chain := []Info{{ID: ID{PID: 9, Start: 90}, Argv: []string{"sh", "-c", "mcpx connect"}}}
	if diff := cmp.Diff(Info{}, Host(chain)); diff != "" {
		t.Errorf("Host (-want +got):\n%s", diff)
	}
}
