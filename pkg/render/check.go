package render

import (
	"fmt"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// check is everything wrong with the fleet: what mcpx check finds in the shared
// file alone and as each machine has it, and the named rules.
func (f fleet) check() config.Problems {
	if f.in.Files[SharedName] == nil {
		return config.Problems{{
			File: f.path(SharedName), Msg: "no such file",
			Hint: "a fleet folder holds " + SharedName + ", " + RulesName + " and " + MachineDir + "/NAME.json",
		}}
	}
	problems := config.Merge(f.shared).Problems
	if f.shared.Broken {
		return problems // nothing can be said of the rest
	}
	for _, file := range f.sharedFiles() {
		problems = append(problems, homePaths(f.path(file), f.in.Files[file])...)
	}
	problems = append(problems, f.secrets()...)
	problems = append(problems, f.relativeCommands()...)
	if data, ok := f.in.Files[RulesName]; ok {
		rules, faults := visibility.Parse(f.path(RulesName), data)
		problems = append(problems, faults...)
		problems = append(problems, rules.Unknown(func(int) []string { return f.shared.Names() })...)
	}
	if len(f.machines) == 0 {
		problems = append(problems, f.servers(f.shared)...)
	}
	for _, m := range f.machines {
		over := m.Over(f.shared)
		problems = append(problems, config.Merge(over).Problems...)
		problems = append(problems, f.sameServers(m)...)
		problems = append(problems, f.hosts(m)...)
		problems = append(problems, f.servers(over)...)
	}
	return problems
}

// sharedFiles are those that all machines read.
func (f fleet) sharedFiles() []string {
	files := []string{SharedName}
	if f.in.Files[RulesName] != nil {
		files = append(files, RulesName)
	}
	return files
}

// sameServers: all machines have the servers of the shared file, and no other
// (record 0004 §8).
func (f fleet) sameServers(m *config.Machine) config.Problems {
	var out config.Problems
	for _, name := range m.Names() {
		if f.shared.Raw(name) != nil {
			continue
		}
		hint := "a machine may change a server, not add or rename one: move it to " + f.path(SharedName)
		if near := config.DidYouMean(name, f.shared.Names()); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		out = append(out, problem(m.At(name, ""), name, "", "same-servers", "only this machine has it", hint))
	}
	return out
}

// hosts must be known.
func (f fleet) hosts(m *config.Machine) config.Problems {
	var out config.Problems
	for i, name := range m.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if _, ok := hostfile.Named(name); !ok {
			hint := "there are: " + strings.Join(hostfile.Names(), " ")
			if near := config.DidYouMean(name, hostfile.Names()); near != "" {
				hint = "did you mean " + near + "?"
			}
			out = append(out, problem(m.At("", field), "", field, "", fmt.Sprintf("no host is called %q", name), hint))
		}
	}
	return out
}

// relativeCommands warns of programs named from the directory of the file: the
// rendered file is somewhere else.
func (f fleet) relativeCommands() config.Problems {
	var out config.Problems
	for _, name := range f.shared.Names() {
		command := f.shared.Raw(name).Command
		if strings.Contains(command, "/") && !strings.HasPrefix(command, "/") && !strings.HasPrefix(command, "~/") {
			p := problem(f.shared.At(name, "command"), name, "command", "",
				"is relative to the file that says it, and the rendered one is elsewhere",
				"name the program and put its directory on PATH, or write ~/… in "+f.path(MachineDir)+"/*.json")
			p.Warning = true
			out = append(out, p)
		}
	}
	return out
}

func problem(at config.Origin, server, field, rule, msg, hint string) config.Problem {
	return config.Problem{
		File: at.File, Line: at.Line, Col: at.Col,
		Server: server, Field: field, Rule: rule, Msg: msg, Hint: hint,
	}
}
