package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachRuleNamesWhatBreaksIt(t *testing.T) {
	tests := []struct {
		name           string
		shared         string // the entries of the shared file
		rules, machine string // whole files; the usual ones when empty
		want           []string
	}{
		{"a home path in a command", `"a": { "command": "/home/you/bin/a" }`, "", "", []string{
			`error [home-path] fleet/.mcpx.json:2:19: server "a": command: holds /home/you…, which other machines do not have | name the program ("a") and put its directory on PATH, or set it in fleet/machines/*.json`}},
		{"a home path in the middle of an arg", `"a": { "command": "a", "args": ["--db=/Users/you/x,y"] }`, "", "", []string{
			`error [home-path] fleet/.mcpx.json:2:33: server "a": args[0]: holds /Users/you…, which other machines do not have | use ${mcpx.root}, or set it for each machine in fleet/machines/*.json, where a leading ~/ is that machine's home`}},
		{"a home path in an env value and in a url",
			`"a": { "command": "a", "env": { "P": "/bin:/root/bin" } }, "b": { "url": "http://localhost/?dir=%2Fhome%2Fyou" }`, "", "", []string{
				`error [home-path] fleet/.mcpx.json:2:38: server "a": env.P: holds /root/…, which other machines do not have | use ${mcpx.root}, or set it for each machine in fleet/machines/*.json, where a leading ~/ is that machine's home`,
				`error [home-path] fleet/.mcpx.json:2:74: server "b": url: holds /home/you…, which other machines do not have | set it for each machine in fleet/machines/*.json`}},
		{"a home path under a key of another host", `"a": { "command": "a", "envFile": "/home/you/.env" }`, "", "", []string{
			`error [home-path] fleet/.mcpx.json:2:35: server "a": envFile: holds /home/you…, which other machines do not have | use ${mcpx.root}, or set it for each machine in fleet/machines/*.json, where a leading ~/ is that machine's home`}},
		{"a home path for a key", `"a": { "command": "a", "env": { "/home/you": "1" }, "x": { "/Users/you": { "y": [1] } } }`, "", "", []string{
			`error [home-path] fleet/.mcpx.json:2:46: server "a": env./home/you: holds /home/you…, which other machines do not have | use ${mcpx.root}, or set it for each machine in fleet/machines/*.json, where a leading ~/ is that machine's home`,
			`error [home-path] fleet/.mcpx.json:2:74: server "a": x./Users/you: holds /Users/you…, which other machines do not have | use ${mcpx.root}, or set it for each machine in fleet/machines/*.json, where a leading ~/ is that machine's home`}},
		{"a home path in the rules", `"a": { "command": "a" }`, `{ "rules": [ { "path": "/home/you/src", "servers": "*" } ] }`, "", []string{
			`error [home-path] fleet/rules.json:1:24: rules[0].path: holds /home/you…, which other machines do not have | write ~/…, or what all machines have`}},
		{"a home path with a secret behind it", `"a": { "url": "http://h/home/ghp_0123456789" }`, "", "", []string{
			`error [home-path] fleet/.mcpx.json:2:15: server "a": url: holds /home/…, which other machines do not have | set it for each machine in fleet/machines/*.json`,
			`error [secret-literal] fleet/.mcpx.json:2:15: server "a": url: is a secret, written out | pass it by a header, and that by "secrets"`}},
		{"no home path", `"a": { "command": "/usr/bin/a", "args": ["/homes/x", "/opt/root", "x/rooted"] }`, "", "", nil},
		{"placeholders", `"a": { "command": "a", "args": ["${mcpx.rot}", "${mcpx.root"] }`, "", "", []string{
			`error [placeholder] fleet/.mcpx.json:2:33: server "a": args[0]: unknown placeholder ${mcpx.rot} | did you mean ${mcpx.root}?`,
			`error [placeholder] fleet/.mcpx.json:2:48: server "a": args[1]: malformed placeholder ${mcpx.root… | write ${mcpx.root} or ${mcpx.cwd}`}},
		{"gopls at the wrong scope, however it is started",
			`"a": { "command": "/usr/bin/gopls", "mcpx": { "scope": "repo" } }, "b": { "command": "sh", "args": ["-c", "exec gopls mcp"] }, "c": { "command": "go", "args": ["run", "golang.org/x/tools/gopls@v0.23.0", "mcp"] }`, "", "", []string{
				`error [workspace-scope] fleet/.mcpx.json:2:56: server "a": mcpx.scope: gopls answers for the checkout it starts in, and scope "repo" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`,
				`error [workspace-scope] fleet/.mcpx.json:2:68: server "b": mcpx.scope: gopls answers for the checkout it starts in, and scope "global" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`,
				`error [workspace-scope] fleet/.mcpx.json:2:128: server "c": mcpx.scope: gopls answers for the checkout it starts in, and scope "global" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`}},
		{"gopls by way of nix, and with its version",
			`"a": { "command": "nix", "args": ["run", "nixpkgs#gopls"] }, "b": { "command": "gopls-0.23" }, "c": { "command": "nix", "args": ["run", "github:NixOS/nixpkgs/abc#gopls.out", "--", "mcp"] }, "d": { "command": "gopls-wrapper" }`, "", "", []string{
				`error [workspace-scope] fleet/.mcpx.json:2:1: server "a": mcpx.scope: gopls answers for the checkout it starts in, and scope "global" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`,
				`error [workspace-scope] fleet/.mcpx.json:2:62: server "b": mcpx.scope: gopls answers for the checkout it starts in, and scope "global" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`,
				`error [workspace-scope] fleet/.mcpx.json:2:96: server "c": mcpx.scope: gopls answers for the checkout it starts in, and scope "global" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`}},
		{"gopls at cwd", `"a": { "command": "gopls", "mcpx": { "scope": "cwd" } }`, "", "", nil},
		{"gopls at the wrong scope on one machine", `"a": { "command": "gopls", "mcpx": { "scope": "worktree" } }`, "",
			`{ "home": "/h", "mcpServers": { "a": { "mcpx": { "scope": "global" } } } }`, []string{
				`error [workspace-scope] fleet/machines/laptop.json:1:59: server "a": mcpx.scope: gopls answers for the checkout it starts in, and scope "global" shares it between checkouts | set "mcpx": { "scope": "worktree" }, or "cwd" where go.mod is not at the top of the repository`}},
		{"a server only one machine has", `"jira": { "command": "j" }`, "", `{ "home": "/h", "mcpServers": { "jria": { "command": "j" }, "x": { "command": "x" } } }`, []string{
			`error [same-servers] fleet/machines/laptop.json:1:33: server "jria": only this machine has it | did you mean jira? a machine may change a server, not add or rename one: move it to fleet/.mcpx.json`,
			`error [same-servers] fleet/machines/laptop.json:1:61: server "x": only this machine has it | a machine may change a server, not add or rename one: move it to fleet/.mcpx.json`}},
		{"a server one machine takes away", `"a": { "command": "a" }`, "", `{ "home": "/h", "mcpServers": { "a": null } }`, []string{
			`error [same-servers] fleet/machines/laptop.json:1:33: server "a": a machine may not remove a server | turn it off there: "mcpx": { "disabled": true }`}},
		{"no version", `"a": { "command": "npx", "args": ["-y", "@x/a"] }, "b": { "command": "go", "args": ["run", "x.org/b@latest"] }, "c": { "command": "npx", "args": ["-y", "@x/c@1.2.3"] }`, "", "", []string{
			`warning [unpinned] fleet/.mcpx.json:2:41: server "a": args[1]: names no version: each start may run another program | write one: name@1.2.3`,
			`warning [unpinned] fleet/.mcpx.json:2:92: server "b": args[1]: names no version: each start may run another program | write one: name@1.2.3`}},
		{"secrets", `"a": { "command": "a", "args": ["--token", "hunter2"], "env": { "API_KEY": "hunter2", "NOTE": "ghp_0123456789abcdef", "B": "${C}", "TOKEN": "${TOKEN}" } },
    "b": { "url": "https://me:hunter2@h/mcp", "headers": { "Authorization": "Bearer hunter2" }, "oauth": { "clientSecret": "hunter2" } }`, "", "", []string{
			`error [secret-literal] fleet/.mcpx.json:2:44: server "a": args[1]: is a secret, written out | pass it by a variable, and that by "secrets": arguments are seen by every user of the machine`,
			`error [secret-literal] fleet/.mcpx.json:2:76: server "a": env.API_KEY: is a secret, written out | read it when the server starts: "mcpx": { "secrets": { "API_KEY": { "file": "~/.secrets/…" } } }`,
			`error [secret-literal] fleet/.mcpx.json:2:95: server "a": env.NOTE: is a secret, written out | read it when the server starts: "mcpx": { "secrets": { "NOTE": { "file": "~/.secrets/…" } } }`,
			`warning [literal] fleet/.mcpx.json:2:124: server "a": env.B: holds ${C} literally: mcpx expands only ${mcpx.…} | read it when the server starts: "mcpx": { "secrets": { "B": { "file": "~/.secrets/…" } } }`,
			`warning [literal] fleet/.mcpx.json:2:141: server "a": env.TOKEN: holds ${TOKEN} literally: mcpx expands only ${mcpx.…} | read it when the server starts: "mcpx": { "secrets": { "TOKEN": { "file": "~/.secrets/…" } } }`,
			`error [secret-literal] fleet/.mcpx.json:3:19: server "b": url: is a secret, written out | pass it by a header, and that by "secrets"`,
			`error [secret-literal] fleet/.mcpx.json:3:77: server "b": headers.Authorization: is a secret, written out | read it when the server starts: "mcpx": { "secrets": { "Authorization": { "file": "~/.secrets/…" } } }`,
			`error [secret-literal] fleet/.mcpx.json:3:124: server "b": oauth.clientSecret: is a secret, written out | take it out: whoever reads the repository has it`}},
		{"a secret in a machine file", `"a": { "command": "a" }`, "", `{ "home": "/h", "mcpServers": { "a": { "env": { "TOKEN": "hunter2" } } } }`, []string{
			`error [secret-literal] fleet/machines/laptop.json:1:58: server "a": env.TOKEN: is a secret, written out | read it when the server starts: "mcpx": { "secrets": { "TOKEN": { "file": "~/.secrets/…" } } }`}},
		{"where a secret is kept is none", `"a": { "command": "a", "mcpx": { "secrets": { "TOKEN": { "file": "~/.secrets/a" } } } }`, "", `{ "home": "/h", "daemon": { "http": { "listen": "127.0.0.1:1", "auth": "token" } } }`, nil},
		{"a name set twice", `"a": { "command": "a" }, "a": { "command": "/home/you/a" }`, "", "", []string{
			`error [duplicate] fleet/.mcpx.json:2:26: server "a": defined twice, here and on line 2 | rename one, or remove it`,
			`error [home-path] fleet/.mcpx.json:2:44: server "a": command: holds /home/you…, which other machines do not have | name the program ("a") and put its directory on PATH, or set it in fleet/machines/*.json`}},
		{"a tilde that is not the first thing", `"a": { "command": "a", "args": ["~/x"] }`, "", `{ "home": "/h", "mcpServers": { "a": { "env": { "D": "x=~/d" } } } }`, []string{
			`warning [check] fleet/.mcpx.json:2:33: server "a": args[0]: ~ is passed as it stands | write the directory out`,
			`warning [check] fleet/machines/laptop.json:1:54: server "a": env.D: ~ is passed as it stands | write the directory out`}},
		{"a program beside the file", `"a": { "command": "./a" }`, "", "", []string{
			`warning [check] fleet/.mcpx.json:2:19: server "a": command: is relative to the file that says it, and the rendered one is elsewhere | name the program and put its directory on PATH, or write ~/… in fleet/machines/*.json`}},
		{"hosts nobody knows", `"a.b": { "command": "a" }`, "", `{ "home": "/h", "hosts": ["codx", "claude-code"] }`, []string{
			`error [check] fleet/machines/laptop.json:1:27: hosts[0]: no host is called "codx" | did you mean codex?`}},
		{"rules of the wrong shape", `"a": { "command": "a" }`, `{ "default": "all", "rule": [], "rules": [ 3, { "path": "", "servers": ["b", 1] }, {} ] }`, "", []string{
			`error [check] fleet/rules.json:1:14: default: is not of the right kind | write { "default": "*", "rules": [ { "path": "~/src", "servers": ["NAME"] } ] }`,
			`error [check] fleet/rules.json:1:29: rule: unknown key | did you mean rules?`,
			`error [check] fleet/rules.json:1:44: rules[0]: is not of the right kind | write { "default": "*", "rules": [ { "path": "~/src", "servers": ["NAME"] } ] }`,
			`error [check] fleet/rules.json:1:57: rules[1].path: is empty | name a directory: ~/src`,
			`warning [check] fleet/rules.json:1:73: rules[1].servers[0]: no server is called "b" | there are: a`,
			`error [check] fleet/rules.json:1:78: rules[1].servers[1]: is not of the right kind | write { "default": "*", "rules": [ { "path": "~/src", "servers": ["NAME"] } ] }`,
			`error [check] fleet/rules.json:1:84: rules[2].path: is missing | a rule is { "path": "~/src", "servers": ["NAME"] }`,
			`error [check] fleet/rules.json:1:84: rules[2].servers: is missing | a rule is { "path": "~/src", "servers": ["NAME"] }`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Dir: "fleet", Machine: "laptop", Files: map[string][]byte{
				".mcpx.json":            []byte("{ \"mcpServers\": {\n" + tt.shared + "\n} }"),
				"machines/laptop.json":  []byte(`{"home": "/home/you"}`),
				"machines/sandbox.json": []byte(`{"home": "/root"}`),
			}}
			if tt.rules != "" {
				in.Files["rules.json"] = []byte(tt.rules)
			}
			if tt.machine != "" {
				in.Files["machines/laptop.json"] = []byte(tt.machine)
			}
			files, ps := Render(in)
			got := strings.Split(strings.TrimSpace(report(ps)), "\n")
			if ps == nil {
				got = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if ps.HasErrors() != (files == nil) {
				t.Errorf("errors: %v, and %d files", ps.HasErrors(), len(files))
			}
			if strings.Contains(report(ps), "hunter2") || strings.Contains(report(ps), "ghp_") {
				t.Error("a secret is in the report")
			}
		})
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	in := someFleet()
	in.Files[".mcpx.json"] = []byte(`{ "mcpServers": { "gopls": { "command": "/home/you/gopls", "args": ["${mcpx.rot}"], "env": { "TOKEN": "x" } } } }`)
	in.Files["machines/sandbox.json"] = []byte(`{ "home": "/root", "mcpServers": { "more": {} } }`)
	_, ps := Render(in)
	rules := map[string]bool{}
	for _, p := range ps {
		rules[p.Rule] = true
	}
	for _, rule := range []string{"home-path", "placeholder", "secret-literal", "workspace-scope", "same-servers"} {
		if !rules[rule] {
			t.Errorf("%s is not in the report:\n%s", rule, report(ps))
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	in := someFleet()
	in.Machine = "lptop"
	_, ps := Render(in)
	if diff := cmp.Diff("error [check] fleet/machines/lptop.json: no such machine | did you mean laptop?\n", report(ps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, ps = Render(Input{Dir: "f", Machine: "a"})
	want := "error [check] f/.mcpx.json: no such file | a fleet folder holds .mcpx.json, rules.json and machines/NAME.json\n" +
		"error [check] f/machines/a.json: no such machine | write it: { \"home\": \"/home/you\" }\n"
	if diff := cmp.Diff(want, report(ps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnpinned(t *testing.T) {
	tests := []struct {
		argv string
		want int
	}{
		{"npx -y @x/a", 1}, {"npx -y @x/a@latest", 1}, {"npx @x/a@1.0.0", -1}, {"npx -p a b", 1}, {"npx --package=a@1 b", -1}, {"npx a@^1", 0},
		{"go run x.org/a@latest", 1}, {"go run x.org/a@v1.2.3", -1}, {"go run x.org/a", -1}, {"go run ./a", -1}, {"go run x.org/a@0123abc", -1}, {"go test x@latest", -1},
		{"npm exec a", 1}, {"npm start a", -1}, {"uvx a==1.0", -1}, {"uvx --from a@1.0 b", -1}, {"uvx a", 0}, {"pipx run a", 1}, {"bunx", -1}, {"gopls mcp", -1}, {"npx ./a", -1},
	}
	for _, tt := range tests {
		argv := strings.Fields(tt.argv)
		if got := unpinned(argv[0], argv[1:]); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.argv, got, tt.want)
		}
	}
}

// Whatever lies in the folder, Render returns, every problem has a place and a
// hint, and what it makes loads.
func FuzzRender(f *testing.F) {
	in := someFleet()
	f.Add(in.Files[".mcpx.json"], in.Files["rules.json"], in.Files["machines/laptop.json"])
	f.Add([]byte(`{"mcpServers": {"a": {"url": "http://%"}, "gopls": {"command": "gopls", "args": [1, ["x"]]}}}`), []byte(`[]`), []byte(`{"home": "/h", "hosts": [1]}`))
	f.Fuzz(func(t *testing.T, shared, rules, machine []byte) {
		files, ps := Render(Input{Dir: "f", Machine: "m", Files: map[string][]byte{".mcpx.json": shared, "rules.json": rules, "machines/m.json": machine}})
		for _, p := range ps {
			if p.File == "" || p.Line < 1 || p.Col < 1 || p.Msg == "" || p.Hint == "" && p.Server == "" {
				t.Fatalf("a problem without a place or a hint: %+v", p)
			}
		}
		if (files == nil) != ps.HasErrors() {
			t.Fatalf("%d files, and %v", len(files), ps)
		}
	})
}
