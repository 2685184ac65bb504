package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// report writes problems as people see them, one line and its hint each.
func report(ps Problems) string {
	var b strings.Builder
	for _, p := range ps {
		if p.Warning {
			b.WriteString("warning: ")
		}
		b.WriteString(p.Error() + "\n  " + p.Hint + "\n")
	}
	return b.String()
}

// servers wraps entries into a file; they stand on line 1 from column 17.
func servers(entries string) string { return `{"mcpServers": {` + entries + `}}` }

func TestParseReportsWhatIsWrongAndWhereAndWhatToDo(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"a clean file has no problems", servers(`"a": {"command": "x", "args": ["-v"], "mcpx": {"scope": "repo"}}`), ""},
		{"an unknown placeholder", servers(`"gopls": {"command": "gopls", "args": ["mcp", "${mcpx.rot}"]}`), `
f.json:1:63: server "gopls": args[1]: unknown placeholder ${mcpx.rot}
  did you mean ${mcpx.root}?
`},
		{"a placeholder that is not closed", servers(`"a": {"command": "x", "env": {"A": "${mcpx.root"}}`), `
f.json:1:52: server "a": env.A: malformed placeholder ${mcpx.root…
  write ${mcpx.root} or ${mcpx.cwd}
`},
		{"a placeholder where none is substituted", servers(`"a": {"url": "https://h/${mcpx.root}"}, "b": {"command": "${mcpx.root}/x"}, "c": {"url": "https://h", "headers": {"X": "${mcpx.cwd}"}}, "d": {"command": "x", "mcpx": {"secrets": {"T": {"file": "${mcpx.root}/t"}}}}`), `
f.json:1:30: server "a": url: ${mcpx.…} is not substituted here
  it is in args, env values and cwd
f.json:1:74: server "b": command: ${mcpx.…} is not substituted here
  it is in args, env values and cwd
f.json:1:136: server "c": headers.X: ${mcpx.…} is not substituted here
  it is in args, env values and cwd
f.json:1:210: server "d": mcpx.secrets.T.file: ${mcpx.…} is not substituted here
  it is in args, env values and cwd
`},
		{"somebody else's placeholder", servers(`"a": {"command": "x", "env": {"T": "${TOKEN}"}}`), `
warning: f.json:1:52: server "a": env.T: holds ${TOKEN} literally: mcpx expands only ${mcpx.…}
  read it when the server starts: "mcpx": { "secrets": { "T": { "file": "~/.secrets/…" } } }
`},
		{"a default inside somebody else's placeholder is not shown", servers(`"a": {"command": "x", "args": ["${TOKEN:-hunter2}"]}`), `
warning: f.json:1:48: server "a": args[0]: holds ${TOKEN…} literally: mcpx expands only ${mcpx.…}
  write the value out, or pass it by env
`},
		{"a placeholder in code for a shell", servers(`"a": {"command": "sh", "args": ["-c", "cd ${mcpx.root} && srv"]}`), `
f.json:1:55: server "a": args[1]: placeholder in code for an interpreter, which reads a directory's name as code
  pass it as an argument after the code and use "$1" there, or by env
`},
		{"an unknown key of ours", servers(`"a": {"command": "x", "mcpx": {"idleTimout": "5m", "zzzz": 1}}`), `
f.json:1:48: server "a": mcpx.idleTimout: unknown key
  did you mean idleTimeout?
f.json:1:68: server "a": mcpx.zzzz: unknown key
  known here: scope, sharing, max, idleTimeout, startTimeout, callTimeout, tools, excludeTools, protocol, roots, serverRequests, disabled, description, secrets, envPolicy
`},
		{"one of our keys beside command", servers(`"a": {"command": "x", "scope": "worktree", "tools": ["t"]}`), `
f.json:1:39: server "a": scope: belongs in the "mcpx" block
  write "mcpx": { "scope": "worktree" }
f.json:1:60: server "a": tools: belongs in the "mcpx" block
  write "mcpx": { "tools": ["t"] }
`},
		{"a slip that leaves a server without a command", servers(`"a": {"commnad": "x"}`), `
f.json:1:23: server "a": commnad: unknown key, and there is neither command nor url
  did you mean command?
`},
		{"a slip in a key the server can do without", servers(`"a": {"command": "x", "evn": {}}`), `
warning: f.json:1:39: server "a": evn: unknown key
  did you mean env?
`},
		{"other hosts' keys are theirs", servers(`"a": {"command": "x", "icon": 1, "icon": 2, "timeout": 3, "autoApprove": [], "type": "stdio"}`), ""},
		{"neither command nor url", servers(`"a": {}, "b": {"env": {"A": "b"}}`), `
f.json:1:17: server "a": neither command nor url
  add "command": "program" or "url": "https://…"
f.json:1:26: server "b": neither command nor url
  command, args, env, cwd, url, headers and secrets come from one file together: repeat the command here
`},
		{"both command and url", servers(`"a": {"command": "x", "url": "https://h"}`), `
f.json:1:46: server "a": url: set beside command
  keep command for a local server, url for a remote one
`},
		{"wrong JSON types", servers(`"a": {"command": 3, "args": "-v x", "env": {"A": 1}, "cwd": null}, "b": [], "c": {"command": "", "mcpx": {"roots": "yes", "max": "4"}}`), `
f.json:1:34: server "a": command: must be a string, and is a number
  put it in quotes
f.json:1:45: server "a": args: must be a list […], and is a string
  put it in brackets, one string an argument: ["…", "…"]
f.json:1:66: server "a": env.A: must be a string, and is a number
  put it in quotes
f.json:1:77: server "a": cwd: must be a string, and is null
  leave it out
f.json:1:89: server "b": must be an object {…}, and is a list […]
  write an object {…}
f.json:1:110: server "c": command: is empty
  fill it in, or leave it out
f.json:1:132: server "c": mcpx.roots: must be true or false, and is a string
  write true or false, without quotes
f.json:1:146: server "c": mcpx.max: must be a number, and is a string
  write a number, without quotes
`},
		{"bad values", servers(`"a": {"command": "x", "mcpx": {"scope": "wortree", "max": -1, "idleTimeout": "5", "callTimeout": "never", "startTimeout": "0s"}}`), `
f.json:1:57: server "a": mcpx.scope: "wortree" is none of global, repo, worktree, cwd, session, psession, parent-session, pid, call
  did you mean worktree?
f.json:1:75: server "a": mcpx.max: -1 is not a whole number of 1 or more
  leave it out for the default
f.json:1:94: server "a": mcpx.idleTimeout: "5" is not a duration
  write a number and a unit, such as "90s" or "5m", or "never"
f.json:1:114: server "a": mcpx.callTimeout: "never" is not a duration
  write a number and a unit, such as "90s" or "5m"
f.json:1:139: server "a": mcpx.startTimeout: "0s" is not more than nothing
  write a number and a unit, such as "90s" or "5m"
`},
		{"bad patterns", servers(`"a": {"command": "x", "mcpx": {"tools": ["ok", "[a"], "excludeTools": ["/(/"]}}`), `
f.json:1:64: server "a": mcpx.tools[1]: "[a": the glob is not closed
  write a tool's name, a glob such as git_*, or a /regular expression/
f.json:1:88: server "a": mcpx.excludeTools[0]: "/(/": error parsing regexp: missing closing ): ` + "`(`" + `
  write a tool's name, a glob such as git_*, or a /regular expression/
`},
		{"bad names", servers(`"a b": {"command": "x"}, "": {"command": "x"}, "` + strings.Repeat("n", 65) + `": {}`), `
f.json:1:17: server "a b": not a name for a server
  use 1 to 64 of the letters a-z A-Z 0-9 . _ -
f.json:1:42: not a name for a server
  use 1 to 64 of the letters a-z A-Z 0-9 . _ -
f.json:1:64: server "` + strings.Repeat("n", 65) + `": not a name for a server
  use 1 to 64 of the letters a-z A-Z 0-9 . _ -
`},
		{"secrets without a source, and with two", servers(`"a": {"command": "x", "mcpx": {"secrets": {"A": {}, "B": {"file": "f", "command": ["c"]}, "C=": {"file": "f"}}}}`), `
f.json:1:65: server "a": mcpx.secrets.A: needs one of file and command
  write { "file": "~/.secrets/…" } or { "command": ["…"] }
f.json:1:74: server "a": mcpx.secrets.B: needs one of file and command
  write { "file": "~/.secrets/…" } or { "command": ["…"] }
f.json:1:113: server "a": mcpx.secrets.C=: not a name for an environment variable
  use letters, digits and _
`},
		{"remote servers", servers(`"a": {"url": "ftp://h"}, "b": {"url": "http://h", "headers": {"X": "y"}}, "c": {"url": "http://127.0.0.1:9/", "headers": {"X": "y"}, "cwd": "/"}, "d": {"url": "https://h", "headers": {"X Y": "a\r\nb"}}`), `
f.json:1:30: server "a": url: not an http or https address
  write it out: "https://host/path"
f.json:1:55: server "b": url: credentials would cross the network unencrypted
  use https
warning: f.json:1:157: server "c": cwd: not used with url: there is no process
  remove it
f.json:1:208: server "d": headers.X Y: not a name for a header
  use letters, digits and -
f.json:1:208: server "d": headers.X Y: holds a line break
  write it on one line
`},
		{"contradictory switches", servers(`"a": {"command": "x", "disabled": true, "mcpx": {"disabled": false}}`), `
f.json:1:51: server "a": disabled: contradicts mcpx.disabled on line 1
  keep one of the two
`},
		{"a command line in command", servers(`"a": {"command": "npx -y srv"}, "b": {"command": "~/bin/srv"}`), `
warning: f.json:1:34: server "a": command: holds a space: command names one program, and is never split
  put the rest in "args"
warning: f.json:1:66: server "b": command: ~ is passed as it stands
  write the directory out
`},
		{"a slip at the top", `{"mcpServer": {}, "$schema": "x"}`, `
warning: f.json:1:2: mcpServer: unknown key
  did you mean mcpServers?
`},
		{"secrets in the defaults", `{"defaults": {"secrets": {"A": {"file": "f"}}, "max": 0}}`, `
f.json:1:26: defaults.secrets: a secret belongs to one server
  write it in that server's "mcpx" block
f.json:1:55: defaults.max: 0 is not a whole number of 1 or more
  leave it out for the default
`},
		{"the daemon block", `{"daemon": {"http": {"listen": "0.0.0.0:80", "auth": "nome"}, "path": ["bin"], "rules": {"onErr": 1}, "env": {"A": "${mcpx.root}"}}}`, `
f.json:1:32: daemon.http.listen: "0.0.0.0:80" is not a loopback address with a port
  write "127.0.0.1:7780"
f.json:1:54: daemon.http.auth: "nome" is none of token, none
  did you mean none?
f.json:1:72: daemon.path[0]: "bin" is not an absolute directory
  write it out from / or ~/
f.json:1:90: daemon.rules.onErr: unknown key
  did you mean onError?
f.json:1:116: daemon.env.A: ${mcpx.…} is not substituted here
  it is in args, env values and cwd of a server
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := Parse("f.json", User, []byte(tt.src))
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), report(ps)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseKeepsTheOthersWhenOneServerIsBad(t *testing.T) {
	f, ps := Parse("f.json", User, []byte(servers(`
		"rot": {"command": "x", "args": ["${mcpx.rot}"]},
		"open": {"command": "x", "args": ["${mcpx."]},
		"good": {"command": "x"},
		"twice": {"command": "x"},
		"twice": {"command": "y"}`)))
	view := Merge(f)
	if diff := cmp.Diff([]string{"good"}, view.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"open", "rot", "twice"}, view.Invalid); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if len(ps) != 3 || !ps.HasErrors() {
		t.Errorf("got problems\n%swant three", report(ps))
	}
}

func TestParseNamesBothLinesOfADuplicate(t *testing.T) {
	_, ps := Parse("f.json", User, []byte(`{
  "mcpServers": {
    "a": {"command": "x"},
    "b": {"command": "x",
          "command": "y", "mcpx": {"max": 1,
          "max": 2}},
    "a": {"command": "y"}
  },
  "mcpServers": {}
}`))
	want := `f.json:5:11: server "b": command: set twice, here and on line 4
  keep one of the two
f.json:6:11: server "b": mcpx.max: set twice, here and on line 5
  keep one of the two
f.json:7:5: server "a": defined twice, here and on line 3
  rename one, or remove it
f.json:9:3: mcpServers: set twice, here and on line 2
  keep one of the two
`
	if diff := cmp.Diff(want, report(ps)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestProjectFileMayHoldServersOnly(t *testing.T) {
	f, ps := Parse("f.json", Project, []byte(`{"daemon": {"approve": "any"}, "defaults": {"max": 9}, "mcpServers": {"a": {"command": "x"}}}`))
	want := `f.json:1:2: daemon: a project file may set mcpServers only
  move it to ~/.config/mcpx/config.json
f.json:1:32: defaults: a project file may set mcpServers only
  move it to ~/.config/mcpx/config.json
`
	if diff := cmp.Diff(want, report(ps)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	view := Merge(f)
	if view.Daemon.Approve != ApprovePerson || view.Servers["a"].Max != 4 {
		t.Errorf("got approve %q and max %d, want the built-in ones", view.Daemon.Approve, view.Servers["a"].Max)
	}
}
