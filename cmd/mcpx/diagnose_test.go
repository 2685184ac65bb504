package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/source"
)

// sound are facts in which nothing is wrong.
func sound() facts {
	return facts{
		version: "1.0", home: "/home/u", runtime: "/run/user/1/mcpx",
		files: []string{"/home/u/.config/mcpx/config.json"}, servers: []serverFacts{{name: "gopls", program: "/home/u/go/bin/gopls"}},
		daemon:    &api.Status{Daemon: api.DaemonStatus{Version: "1.0", PID: 7, Supervised: true}},
		autostart: "/usr/bin/mcpx", autostartKept: true, git: "/usr/bin/git",
	}
}

func TestDiagnoseSound(t *testing.T) {
	want := []finding{
		{levelOK, "daemon", "1.0, same as this program, pid 7, run by a service", ""},
		{levelOK, "sockets", "/run/user/1/mcpx, yours alone", ""},
		{levelOK, "autostart", "/usr/bin/mcpx", ""},
		{levelOK, "config", "1 server, 1 file", ""},
		{levelOK, "gopls", "~/go/bin/gopls", ""},
		{levelOK, "git", "/usr/bin/git", ""},
	}
	if diff := cmp.Diff(want, diagnose(sound())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A server whose program is there and that fails all the same is not said to be
// well, too.
func TestDiagnoseSaysOneThingOfAServer(t *testing.T) {
	for name, fault := range map[string]func(*facts){
		"its process fails": func(f *facts) {
			f.daemon.Instances = []api.InstanceStatus{{Server: "gopls", State: "failed", LastError: "exit status 1"}}
		},
		"its config is wrong": func(f *facts) { f.problems = []api.Problem{{Where: "c:1:2", Server: "gopls", Message: "broken"}} },
	} {
		t.Run(name, func(t *testing.T) {
			f := sound()
			fault(&f)
			var levels []level
			for _, g := range diagnose(f) {
				if g.About == "gopls" {
					levels = append(levels, g.Level)
				}
			}
			if diff := cmp.Diff([]level{levelFail}, levels); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each fault shows as one finding more, or in the place of one that was good.
func TestDiagnoseFaults(t *testing.T) {
	tests := []struct {
		name  string
		fault func(*facts)
		want  finding
	}{
		{"another version", func(f *facts) { f.daemon.Daemon.Version = "0.9" },
			finding{levelWarn, "daemon", "0.9, pid 7, run by a service; this program is 1.0", "restart the service: systemctl --user restart mcpx"}},
		{"another version, started by connect", func(f *facts) { f.daemon.Daemon = api.DaemonStatus{Version: "0.9", PID: 7} },
			finding{levelWarn, "daemon", "0.9, pid 7, started by connect; this program is 1.0", "mcpx stop   (the next connect starts it again)"}},
		{"a daemon that does not answer", func(f *facts) { f.daemon, f.asked = nil, errors.New("no answer") },
			finding{levelFail, "daemon", "cannot be asked: no answer", "mcpx stop, then connect again"}},
		{"sockets open to others", func(f *facts) { f.sockets = &failure{msg: "open to others", hint: "remove it"} },
			finding{levelFail, "sockets", "open to others", "remove it"}},
		{"a program that others can replace", func(f *facts) { f.autostartKept = false },
			finding{levelWarn, "autostart", "/usr/bin/mcpx can be replaced by others than you and root", "chmod go-w the file and its directory, or install mcpx elsewhere"}},
		{"no program to start", func(f *facts) { f.autostartError = &failure{msg: "unknown", hint: "by hand"} },
			finding{levelFail, "autostart", "unknown", "by hand"}},
		{"no config", func(f *facts) { f.files, f.servers = nil, nil },
			finding{levelWarn, "config", "no server is configured yet", "mcpx import shows what your hosts start today; mcpx demo works without"}},
		{"an error in the config", func(f *facts) {
			f.problems = []api.Problem{{Where: "/home/u/c.json:1:2", Message: "broken", Hint: "mend it"}}
		}, finding{levelFail, "config", "~/c.json:1:2: broken", "mend it"}},
		{"a warning of one server", func(f *facts) {
			f.problems = []api.Problem{{Where: "c:1:2", Server: "jira", Field: "env.T", Message: "odd", Warning: true}}
		}, finding{levelWarn, "jira", "c:1:2: env.T: odd", ""}},
		{"a daemon with another config", func(f *facts) { f.other, f.daemon.Daemon.Config = true, []string{"/x.json"} },
			finding{levelWarn, "config", "the daemon that runs reads another one: /x.json", "mcpx stop   (a daemon started by connect reads your own files)"}},
		{"a file that is not trusted", func(f *facts) { f.projects = []source.Project{{Path: "/home/u/a b/.mcpx.json"}} },
			finding{levelWarn, "trust", "~/a b/.mcpx.json is not trusted: its servers are off", "look at it, then: mcpx trust '/home/u/a b/.mcpx.json'"}},
		{"a program that is missing", func(f *facts) { f.servers[0].broken = errors.New("not found") },
			finding{levelFail, "gopls", "not found", "mend it there, or what the config says of it"}},
		{"a directory that is missing", func(f *facts) {
			f.servers[0].broken = config.Problem{Server: "gopls", Field: "cwd", Msg: "directory /x does not exist", Hint: "create it"}
		}, finding{levelFail, "gopls", "cwd: directory /x does not exist", "create it"}},
		{"a program that only this shell finds", func(f *facts) {
			f.servers[0].broken, f.servers[0].elsewhere = errors.New("not found"), "/opt/t/gopls"
		}, finding{levelFail, "gopls", "not found", "this shell finds /opt/t/gopls: name /opt/t in daemon.path (in Nix: service.path), or write the whole path"}},
		{"a server that cannot be planned", func(f *facts) { f.servers[0].planned = config.Problem{Msg: "has no root", Hint: "set one"} },
			finding{levelWarn, "gopls", "cannot start from here: has no root", "set one"}},
		{"a process that fails", func(f *facts) {
			f.daemon.Instances = []api.InstanceStatus{{Server: "jira", State: "backing-off", LastError: "exit status 1"}}
		}, finding{levelFail, "jira", "backing off: exit status 1", "run it by hand: mcpx explain jira --shell; its last words: mcpx logs jira"}},
		{"a remote that fails", func(f *facts) {
			f.servers[0].aside = "a remote: https://x.test"
			f.daemon.Instances = []api.InstanceStatus{{Server: "gopls", State: "backing-off", LastError: "down"}}
		}, finding{levelFail, "gopls", "backing off: down", "see that it runs and that its url is right: mcpx explain gopls"}},
		{"a remote that wants a sign-in", func(f *facts) {
			f.servers[0].aside = "a remote: https://x.test"
			f.daemon.Instances = []api.InstanceStatus{{Server: "gopls", State: "failed", LastError: "needs sign-in: mcpx auth login gopls"}}
		}, finding{levelFail, "gopls", "needs sign-in: mcpx auth login gopls", "mcpx auth login gopls"}},
		{"a remote whose secret is missing", func(f *facts) {
			f.servers[0].aside, f.servers[0].broken = "a remote: https://x.test", config.Problem{Server: "gopls", Field: "mcpx.secrets.A", Msg: "gone", Hint: "bring it"}
		}, finding{levelFail, "gopls", "mcpx.secrets.A: gone", "bring it"}},
		{"an entry beside mcpx", func(f *facts) { f.bypass = []bypass{{"Zed", "/home/u/z.json", "gopls", "write this"}} },
			finding{levelWarn, "Zed", "~/z.json starts gopls without mcpx", "write this"}},
		{"no git", func(f *facts) { f.git = "" },
			finding{levelWarn, "git", "is not on the PATH: repositories of a format mcpx does not read itself cannot be told apart", "install git"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := sound()
			tt.fault(&f)
			before := map[finding]bool{}
			for _, g := range diagnose(sound()) {
				before[g] = true
			}
			var fresh []finding
			for _, g := range diagnose(f) {
				if !before[g] {
					fresh = append(fresh, g)
				}
			}
			if diff := cmp.Diff([]finding{tt.want}, fresh); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
