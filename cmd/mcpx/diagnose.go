package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/source"
)

// level is how much a finding matters: one that fails makes doctor exit with 1.
type level string

const (
	levelOK   level = "ok"
	levelWarn level = "warn"
	levelFail level = "fail"
)

// finding is one thing that was looked at.
type finding struct {
	Level   level  `json:"level"`
	About   string `json:"about"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// facts are all that doctor judges by; what they come to is diagnose's.
type facts struct {
	version string
	home    string
	runtime string      // directory
	sockets error       // what is wrong with that directory
	absent  bool        // it is not there yet
	daemon  *api.Status // nil: none runs, or it cannot be asked
	asked   error       // why it cannot

	files    []string // of the config seen from here
	problems []api.Problem
	other    bool // the daemon reads another config
	servers  []serverFacts
	projects []source.Project

	autostart      string // the program that connect would start
	autostartKept  bool   // nobody else can replace it
	autostartError error

	taken   string   // the address of the HTTP front, when no daemon runs and another process has it
	git     string   // "" when it is not on the PATH
	ignored []string // XDG variables that mcpx connect does not go by
	bypass  []bypass
}

// serverFacts are what a start of one server would find.
type serverFacts struct {
	name      string
	aside     string // why there is no program to look for: a remote, disabled
	planned   error  // it cannot start from here
	program   string
	broken    error  // what a start would answer
	elsewhere string // where this shell finds a program that is missing
}

// bypass is a host's entry that starts one of our servers without mcpx.
type bypass struct{ host, file, entry, instead string }

// diagnose says what is right and what is not, and how to mend it. Pure.
func diagnose(f facts) []finding {
	found := []finding{f.daemonFinding(), f.socketFinding()}
	if f.taken != "" {
		found = append(found, finding{levelFail, "http", f.taken + " is held by another process, which hosts would tell their token",
			"end what listens there, or write another port in daemon.http.listen"})
	}
	found = append(found, f.programFinding())
	found = append(found, f.configFindings()...)
	found = append(found, f.projectFindings()...)
	failing := f.instanceFindings()
	for _, s := range f.servers {
		g := f.serverFinding(s)
		fails := func(h finding) bool { return h.Level == levelFail && h.About == g.About }
		if g.Level == levelOK && (slices.ContainsFunc(failing, fails) || slices.ContainsFunc(f.configFindings(), fails)) {
			continue // its program is there, and that is not what counts
		}
		found = append(found, g)
	}
	found = append(found, failing...)
	for _, b := range f.bypass {
		found = append(found, finding{levelWarn, b.host, fmt.Sprintf("%s starts %s without mcpx", tilde(b.file, f.home), b.entry), b.instead})
	}
	for _, name := range f.ignored {
		found = append(found, finding{levelWarn, name, "is set, and mcpx connect does not go by it: hosts would find different daemons",
			"keep mcpx's files below HOME; only a daemon started by hand or a service reads XDG variables"})
	}
	if f.git == "" {
		found = append(found, finding{levelWarn, "git", "is not on the PATH: repositories of a format mcpx does not read itself cannot be told apart", "install git"})
	} else {
		found = append(found, finding{levelOK, "git", f.git, ""})
	}
	return found
}

func (f facts) daemonFinding() finding {
	d := finding{levelOK, "daemon", "none runs: the first mcpx connect starts it", ""}
	switch {
	case f.daemon == nil && f.asked != nil:
		return finding{levelFail, "daemon", "cannot be asked: " + f.asked.Error(), cmp.Or(config.HintOf(f.asked), "mcpx stop, then connect again")}
	case f.daemon == nil:
		return d
	}
	how, again := "started by connect", "mcpx stop   (the next connect starts it again)"
	if f.daemon.Daemon.Supervised {
		how, again = "run by a service", "restart the service: systemctl --user restart mcpx"
	}
	if v := f.daemon.Daemon.Version; v != f.version {
		return finding{levelWarn, "daemon", fmt.Sprintf("%s, pid %d, %s; this program is %s", v, f.daemon.Daemon.PID, how, f.version), again}
	}
	d.Message = fmt.Sprintf("%s, same as this program, pid %d, %s", f.version, f.daemon.Daemon.PID, how)
	return d
}

func (f facts) socketFinding() finding {
	switch {
	case f.sockets != nil:
		return finding{levelFail, "sockets", f.sockets.Error(), config.HintOf(f.sockets)}
	case f.absent:
		return finding{levelOK, "sockets", tilde(f.runtime, f.home) + ", made when a daemon starts", ""}
	}
	return finding{levelOK, "sockets", tilde(f.runtime, f.home) + ", yours alone", ""}
}

func (f facts) programFinding() finding {
	switch {
	case f.autostartError != nil:
		return finding{levelFail, "autostart", f.autostartError.Error(), config.HintOf(f.autostartError)}
	case !f.autostartKept:
		return finding{levelWarn, "autostart", tilde(f.autostart, f.home) + " can be replaced by others than you and root",
			"chmod go-w the file and its directory, or install mcpx elsewhere"}
	}
	return finding{levelOK, "autostart", tilde(f.autostart, f.home), ""}
}

func (f facts) configFindings() []finding {
	var found []finding
	for _, p := range f.problems {
		l := levelFail
		if p.Warning {
			l = levelWarn
		}
		found = append(found, finding{l, cmp.Or(p.Server, "config"), problemLine(false, tilde(p.Where, f.home), p.Field, p.Message), p.Hint})
	}
	switch {
	case len(f.files) == 0 && len(found) == 0:
		return []finding{{levelWarn, "config", "no server is configured yet", "mcpx import shows what your hosts start today; mcpx demo works without"}}
	case len(found) == 0:
		found = append(found, finding{levelOK, "config", fmt.Sprintf("%s, %s", plural(len(f.servers), "server", "servers"), plural(len(f.files), "file", "files")), ""})
	}
	if f.other {
		found = append(found, finding{levelWarn, "config", "the daemon that runs reads another one: " + strings.Join(f.daemon.Daemon.Config, " "),
			"mcpx stop   (a daemon started by connect reads your own files)"})
	}
	return found
}

func (f facts) projectFindings() []finding {
	var found []finding
	for _, p := range f.projects {
		name := tilde(p.Path, f.home)
		switch {
		case p.Problem != nil: // stands among the problems
		case p.Trusted:
			found = append(found, finding{levelOK, "trust", name, ""})
		case p.Changed:
			found = append(found, finding{levelWarn, "trust", name + " changed since you trusted it, or a program it names did: its servers are off", "look at it, then: mcpx trust " + hostfile.Quote(p.Path)})
		default:
			found = append(found, finding{levelWarn, "trust", name + " is not trusted: its servers are off", "look at it, then: mcpx trust " + hostfile.Quote(p.Path)})
		}
	}
	return found
}

func (f facts) serverFinding(s serverFacts) finding {
	switch {
	case s.aside != "" && s.broken == nil:
		return finding{levelOK, s.name, s.aside, ""}
	case s.planned != nil:
		return finding{levelWarn, s.name, "cannot start from here: " + s.planned.Error(), config.HintOf(s.planned)}
	case s.broken != nil:
		fix := config.HintOf(s.broken)
		if s.elsewhere != "" {
			fix = fmt.Sprintf("this shell finds %s: name %s in daemon.path (in Nix: service.path), or write the whole path", s.elsewhere, filepath.Dir(s.elsewhere))
		}
		return finding{levelFail, s.name, withoutServer(s.broken), cmp.Or(fix, "mend it there, or what the config says of it")}
	}
	return finding{levelOK, s.name, tilde(s.program, f.home), ""}
}

// withoutServer is an error whose line begins with the server already.
func withoutServer(err error) string {
	q, ok := errors.AsType[config.Problem](err)
	if !ok {
		return err.Error()
	}
	q.Server = ""
	if q.Field == "command" { // goes without saying
		q.Field = ""
	}
	return q.Error()
}

// remotely begins what is said of a server that is reached by url.
const remotely = "a remote: "

func (f facts) isRemote(server string) bool {
	return slices.ContainsFunc(f.servers, func(s serverFacts) bool { return s.name == server && strings.HasPrefix(s.aside, remotely) })
}

// instanceFindings are the processes that do not do what they should.
func (f facts) instanceFindings() []finding {
	if f.daemon == nil {
		return nil
	}
	var found []finding
	for _, in := range f.daemon.Instances {
		if !slices.Contains([]string{"backing-off", "failed", "list-failed"}, in.State) {
			continue
		}
		reason := cmp.Or(in.Reason, in.LastError, "no reason given")
		word, _, _ := strings.Cut(in.Words(), " (")
		fix := "run it by hand: mcpx explain " + hostfile.Quote(in.Server) + " --shell; its last words: mcpx logs " + hostfile.Quote(in.Server)
		switch {
		case strings.Contains(reason, "needs sign-in"):
			fix = "mcpx auth login " + hostfile.Quote(in.Server)
		case f.isRemote(in.Server):
			fix = "see that it runs and that its url is right: mcpx explain " + hostfile.Quote(in.Server)
		}
		if word != api.SignIn {
			reason = word + ": " + reason
		}
		found = append(found, finding{levelFail, in.Server, reason, fix})
	}
	return found
}
