package adopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
)

func found(host, file string, e hostfile.Entry) Found {
	h, ok := hostfile.Named(host)
	if !ok {
		panic("no such host: " + host)
	}
	return Found{Host: h, File: file, Dir: "/home/you/app", Level: hostfile.User, Entry: e}
}

func TestKnownServersGetTheirScope(t *testing.T) {
	tests := []struct {
		command, want string
	}{
		{"npx -y @playwright/mcp@0.0.83 --isolated", "session exclusive"},
		{"npx chrome-devtools-mcp@latest", "session exclusive"},
		{"docker run -i --rm mcp/puppeteer", "session exclusive"},
		{"npx -y @modelcontextprotocol/server-sequential-thinking", "session"},
		{"npx -y @wonderwhy-er/desktop-commander", "session"},
		{"/usr/local/bin/gopls mcp", "worktree"},
		{"go run golang.org/x/tools/gopls@v0.23.0 mcp", "worktree"},
		{"uvx --from git+https://github.com/oraios/serena serena start-mcp-server", "worktree"},
		{"npx -y @modelcontextprotocol/server-memory", "global"},
		{"codedb mcp", "global"},
		{"codebase-memory-mcp", "global"},
		{"npx -y @modelcontextprotocol/server-filesystem /srv/files", "global"},
		{"npx -y @modelcontextprotocol/server-filesystem", "worktree"},
		{"uvx mcp-server-git", "worktree"},
		{"npx -y @upstash/context7-mcp", "global"},
		{"npx -y @modelcontextprotocol/server-brave-search", "global"},
		{"uvx mcp-server-fetch", "global"},
		{"https://mcp.linear.app/sse", "global"},
		{"https://mcp.context7.com/mcp", "global"},
		{"https://tools.example.com/mcp", "session"},
		{"mine --port 3", "session"},
	}
	for _, tt := range tests {
		words := strings.Fields(tt.command)
		e := hostfile.Entry{Name: "x", Command: words[0], Args: words[1:]}
		if strings.Contains(words[0], "://") {
			e = hostfile.Entry{Name: "x", URL: words[0]}
		}
		s := Adopt([]Found{found("codex", "f", e)}).Servers[0]
		got := string(s.Scope)
		if s.Raw.Mcpx.Sharing != nil {
			got += " " + string(*s.Raw.Mcpx.Sharing)
		}
		if got != tt.want || s.Reason == "" {
			t.Errorf("%s: got %s (%s), want %s", tt.command, got, s.Reason, tt.want)
		}
	}
}

func TestEqualEntriesBecomeOneAndOthersAreToldApart(t *testing.T) {
	db := hostfile.Entry{Name: "db", Command: "codedb", Args: []string{"mcp"}}
	other := db
	other.Args = []string{"mcp", "--fast"}
	third := db
	third.Env = map[string]string{"A": "1"}
	off := db
	off.Disabled = true
	local := hostfile.Entry{Name: "run me!", Command: "./run"}
	p := Adopt([]Found{
		found("claude-code", "a", db), found("codex", "b", db), found("codex", "c", other), found("codex", "d", third),
		found("cursor", "e", off), found("zed", "f", local), found("zed", "h", hostfile.Entry{Name: "a", Command: "gopls"}), found("zed", "g", hostfile.Connect("x", "")),
	})
	got := map[string]string{}
	for _, s := range p.Servers {
		if *s.Raw.Mcpx.Scope != s.Scope {
			t.Errorf("%s: scope %s is written as %s", s.Name, s.Scope, *s.Raw.Mcpx.Scope)
		}
		var files []string
		for _, f := range s.From {
			files = append(files, f.File)
		}
		got[s.Name] = strings.Join(files, " ") + ": " + s.Raw.Command + " " + strings.Join(s.Raw.Args, " ") + "; " + strings.Join(s.Notes, "; ")
	}
	want := map[string]string{
		"a":          "h: gopls ; ",
		"db":         "a b e: codedb mcp; is off in one host and on in another: rules can do that by directory",
		"db-codex":   `c: codedb mcp --fast; was "db" in Codex`,
		"db-codex-2": `d: codedb mcp; was "db" in Codex`,
		"run-me-":    `f: /home/you/app/run ; was "run me!" in Zed; was relative to /home/you/app`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(p.Skipped) != 1 || p.Skipped[0].File != "g" {
		t.Errorf("skipped %+v, want the one that starts mcpx", p.Skipped)
	}
}

func TestSecretsAreLeftOut(t *testing.T) {
	p := Adopt([]Found{
		found("cursor", "a", hostfile.Entry{
			Name: "jira", Command: "jira", Args: []string{"--token", "hunter2", "--key=hunter2", "--url", "${JIRA_URL}"},
			Env: map[string]string{"JIRA_TOKEN": "hunter2", "NOTE": "ghp_hunter2hunter2", "LOG": "debug", "PASSWORD": "${env:PW}", "REGION": "${REGION}"},
		}),
		found("codex", "b", hostfile.Entry{
			Name: "docs", URL: "https://me:hunter2@docs.example.com/mcp?api_key=hunter2",
			Headers: map[string]string{"Authorization": "Bearer hunter2", "X-Team": "a"},
		}),
	})
	text := string(p.JSONC())
	if strings.Contains(text, "hunter2") {
		t.Errorf("a secret is printed:\n%s", text)
	}
	want := `// Made by mcpx import. Look it over, and save it as ~/.config/mcpx/config.json.
{
  "mcpServers": {
    // from Codex (b)
    // scope global: it looks things up and keeps nothing between calls
    // header Authorization held a secret in plain text: put it into ~/.secrets/docs-Authorization (chmod 600), and think of it as known
    // header X-Team held a secret in plain text: put it into ~/.secrets/docs-X-Team (chmod 600), and think of it as known
    // url held a secret, which is left out with all of its query: pass it by a header and read that from a file by "secrets"
    "docs": {
      "url": "https://docs.example.com/mcp",
      "mcpx": {
        "scope": "global",
        "secrets": {
          "Authorization": {
            "file": "~/.secrets/docs-Authorization"
          },
          "X-Team": {
            "file": "~/.secrets/docs-X-Team"
          }
        }
      }
    },

    // from Cursor (a)
    // scope global: what it works on lies elsewhere, and a call says all it needs
    // variable JIRA_TOKEN held a secret in plain text: put it into ~/.secrets/jira-JIRA_TOKEN (chmod 600), and think of it as known
    // variable NOTE held a secret in plain text: put it into ~/.secrets/jira-NOTE (chmod 600), and think of it as known
    // variable PASSWORD was filled in by Cursor: put its value into ~/.secrets/jira-PASSWORD (chmod 600)
    // variable REGION is filled in by Cursor, and mcpx passes it as it stands: write the value out
    // args[1] held a secret, which is left out: pass it by a variable and read that from a file by "secrets"
    // args[2] held a secret, which is left out: pass it by a variable and read that from a file by "secrets"
    // args[4] holds a variable that mcpx passes as it stands: write the value out
    "jira": {
      "command": "jira",
      "args": [
        "--token",
        "SECRET-REMOVED",
        "--key=SECRET-REMOVED",
        "--url",
        "${JIRA_URL}"
      ],
      "env": {
        "LOG": "debug",
        "REGION": "${REGION}"
      },
      "mcpx": {
        "scope": "global",
        "secrets": {
          "JIRA_TOKEN": {
            "file": "~/.secrets/jira-JIRA_TOKEN"
          },
          "NOTE": {
            "file": "~/.secrets/jira-NOTE"
          },
          "PASSWORD": {
            "file": "~/.secrets/jira-PASSWORD"
          }
        }
      }
    },
  },
}
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who passes a header to a server mostly passes a key, whatever it is called.
func TestHeadersAreSecretsUnlessTheyAreKnown(t *testing.T) {
	s := Adopt([]Found{found("codex", "f", hostfile.Entry{Name: "docs", URL: "https://h/mcp", Headers: map[string]string{
		"X-Key": "hunter2", "X-Mcpx-Cwd": "/src", "accept": "text/plain", "Content-Type": "a/b", "User-Agent": "me", "X-Empty": "", "X-Ref": "${X}",
	}})}).Servers[0]
	kept := map[string]string{"X-Mcpx-Cwd": "/src", "accept": "text/plain", "Content-Type": "a/b", "User-Agent": "me", "X-Empty": "", "X-Ref": "${X}"}
	if diff := cmp.Diff(kept, s.Raw.Headers); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]config.Secret{"X-Key": {File: "~/.secrets/docs-X-Key"}}, s.Raw.Mcpx.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// A name is a word on a command line: none may look like a flag.
func TestNamesAreSafeWords(t *testing.T) {
	for name, want := range map[string]string{
		"db.1_x-y": "db.1_x-y", "run me!": "run-me-", "\x1b[31mred": "31mred", "--all": "all", ".hidden": "hidden", "_x": "x", "\n": "server", "": "server", "日本": "server",
	} {
		got := Adopt([]Found{found("codex", "f", hostfile.Entry{Name: name, Command: "x"})}).Servers[0].Name
		if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestEntriesThatDifferOnlyInASecretStayApart(t *testing.T) {
	one := hostfile.Entry{Name: "x", Command: "x", Env: map[string]string{"TOKEN": "hunter2"}}
	two := hostfile.Entry{Name: "x", Command: "x", Env: map[string]string{"TOKEN": "hunter3"}}
	if p := Adopt([]Found{found("codex", "a", one), found("cursor", "b", two)}); len(p.Servers) != 2 {
		t.Errorf("got %d servers, want 2: who acts as whom must not change", len(p.Servers))
	}
}

func TestAWorkspaceFolderBecomesTheRoot(t *testing.T) {
	e := hostfile.Entry{Name: "x", Command: "x", Args: []string{"--root=${workspaceFolder}"}, Cwd: "${workspaceFolder}/sub"}
	s := Adopt([]Found{found("vscode", "f", e)}).Servers[0]
	if s.Scope != "worktree" || s.Raw.Args[0] != "--root=${mcpx.root}" || s.Raw.Cwd != "${mcpx.root}/sub" {
		t.Errorf("got scope %s, args %q, cwd %q", s.Scope, s.Raw.Args, s.Raw.Cwd)
	}
	if e.Args[0] != "--root=${workspaceFolder}" {
		t.Error("the entry that was found has changed")
	}
}

// Whatever hosts hold, the config that comes out parses, has every server, and
// none of its comments leaves its line.
func FuzzAdopt(f *testing.F) {
	f.Add("db", "codedb", "--token", "v", "https://h", "K", "s\necret")
	f.Add("a\nb", "./x", "${mcpx.rot}", "Authorization: Bearer x", "", "", "\x00")
	f.Add("", "npx", "@playwright/mcp", "~", "http://[", "TOKEN", "sk-0123456789")
	f.Fuzz(func(t *testing.T, name, command, arg1, arg2, url, key, value string) {
		table := map[string]string{key: value}
		p := Adopt([]Found{
			found("codex", name, hostfile.Entry{Name: name, Command: command, Args: []string{arg1, arg2}, Env: table, Cwd: arg2}),
			found("cursor", "g", hostfile.Entry{Name: name, URL: url, Headers: table, Left: []string{key}}),
		})
		text := p.JSONC()
		file, ps := config.Parse("f", config.Explicit, text)
		if file.Broken || len(file.Names()) != len(p.Servers) {
			t.Fatalf("%v in\n%s", ps, text)
		}
		elsewhere := strings.Join([]string{name, command, arg1, arg2, url, key}, "\n")
		if config.LooksSecret(value) && strings.Contains(string(text), value) && !strings.Contains(elsewhere, value) {
			t.Fatalf("%q is printed:\n%s", value, text)
		}
	})
}
