package main

import (
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/adopt"
	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
)

// replacement is what a host is told in place of one of its entries.
type replacement struct {
	found  adopt.Found
	server string
	line   string
}

// replacements are those of one host, in the order its entries were found. The
// entry keeps its name there: tools are called by it.
func replacements(plan adopt.Plan, host string) []replacement {
	var all []replacement
	for _, s := range plan.Servers {
		for _, f := range s.From {
			if f.Host.Name != host {
				continue
			}
			e := hostfile.Connect(s.Name, "")
			e.Name = f.Name
			all = append(all, replacement{f, s.Name, f.Host.Register(e, f.Level)})
		}
	}
	return all
}

// registering says for each host what makes it use mcpx.
func (p printer) registering(f *findings, plan adopt.Plan, out string) {
	if len(plan.Servers) > 0 {
		where := "the config above"
		if out != "" {
			where = out
		}
		p.line("once %s is in place, tell each host:", where)
	}
	for _, h := range f.hosts {
		all := replacements(plan, h.Name)
		skipped := slices.DeleteFunc(slices.Clone(plan.Skipped), func(s adopt.Found) bool { return s.Host.Name != h.Name })
		if len(all)+len(skipped) == 0 {
			continue
		}
		p.line("%s (%s)", h.Title, strings.Join(f.files[h.Name], ", "))
		for _, r := range all {
			p.line("  %s", r.line)
		}
		for _, s := range skipped {
			p.line("  skipped: %s starts mcpx already", s.Name)
		}
	}
}

// importView is import --json.
type importView struct {
	Servers  []importedServer `json:"servers"`
	Skipped  []importedFrom   `json:"skipped"`
	Register []registration   `json:"register"`
	Problems []api.Problem    `json:"problems"`
}

type importedServer struct {
	Name   string           `json:"name"`
	Scope  string           `json:"scope"`
	Reason string           `json:"reason"`
	Notes  []string         `json:"notes"`
	From   []importedFrom   `json:"from"`
	Config config.RawServer `json:"config"`
}

type importedFrom struct {
	Host  string `json:"host"`
	File  string `json:"file"`
	Level string `json:"level"`
	Name  string `json:"name"`
}

type registration struct {
	Host   string `json:"host"`
	Server string `json:"server"`
	Line   string `json:"line"`
}

func importJSON(f *findings, plan adopt.Plan, problems config.Problems) importView {
	v := importView{
		Servers: []importedServer{}, Skipped: fromAll(plan.Skipped), Register: []registration{},
		Problems: api.Problems(append(slices.Clone(f.problems), problems...)),
	}
	for _, s := range plan.Servers {
		v.Servers = append(v.Servers, importedServer{
			Name: s.Name, Scope: string(s.Scope), Reason: s.Reason,
			Notes: append([]string{}, s.Notes...), From: fromAll(s.From), Config: s.Raw,
		})
	}
	for _, h := range f.hosts {
		for _, r := range replacements(plan, h.Name) {
			v.Register = append(v.Register, registration{h.Name, r.server, r.line})
		}
	}
	return v
}

func fromAll(found []adopt.Found) []importedFrom {
	all := []importedFrom{}
	for _, f := range found {
		all = append(all, importedFrom{f.Host.Name, f.File, string(f.Level), f.Name})
	}
	return all
}
