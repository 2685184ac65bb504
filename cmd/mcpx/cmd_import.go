package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/adopt"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/gitwhere"
	"github.com/dezren39/mcpx/pkg/hostfile"
)

// maxHostFile is the largest file of a host that is read, in bytes; some keep
// their history beside their settings.
const maxHostFile = 64 << 20

func importCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "print the config that replaces what your hosts start today", ArgsUsage: "[HOST...]",
		Category: ship, Description: "mcpx import\nmcpx import claude-code codex --out ~/.config/mcpx/config.json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write the config to this new file"},
			jsonFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			hosts, err := hostsNamed(c.Args().Slice())
			if err != nil {
				return err
			}
			found, err := p.findEntries(ctx, c, hosts)
			if err != nil {
				return err
			}
			return p.imported(found, c.String("out"), c.Bool("json"))
		},
	}
}

func hostsNamed(names []string) ([]hostfile.Host, error) {
	if len(names) == 0 {
		return hostfile.All(), nil
	}
	var hosts []hostfile.Host
	for _, name := range names {
		h, ok := hostfile.Named(name)
		if !ok {
			hint := "there are: " + strings.Join(hostfile.Names(), " ")
			if near := config.DidYouMean(name, hostfile.Names()); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, misuse(hint, "import: no host is called %q", name)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// findings are what the hosts' files hold.
type findings struct {
	hosts    []hostfile.Host
	entries  []adopt.Found
	files    map[string][]string // that were read, by host
	looked   []string            // that are not there
	problems config.Problems     // of files that could not be read
}

// findEntries looks into the files of each host, the user's and those of the
// project around this directory.
func (p *program) findEntries(ctx context.Context, c *cli.Command, hosts []hostfile.Host) (*findings, error) {
	dirs, err := p.dirs(c)
	if err != nil {
		return nil, err
	}
	here, err := p.directory(c)
	if err != nil {
		return nil, err
	}
	top := gitwhere.Locate(ctx, here, gitwhere.Options{}).Worktree
	f := &findings{hosts: hosts, files: map[string][]string{}}
	for _, h := range hosts {
		seen := map[string]bool{} // a home that is a project has one file for both
		for _, place := range h.Places {
			for _, dir := range searched(place, dirs.Home, here, top) {
				file := filepath.Join(dir, place.Path)
				if !seen[file] {
					f.read(h, place, file, dirs.Home, here)
				}
				seen[file] = true
			}
		}
	}
	return f, nil
}

// searched are the directories a place is relative to: home, or this one and
// those above it up to the top of the checkout.
func searched(place hostfile.Place, home, here, top string) []string {
	if !place.Project {
		return []string{home}
	}
	all := []string{here}
	for top != "" && here != top && here != filepath.Dir(here) {
		here = filepath.Dir(here)
		all = append(all, here)
	}
	return all
}

func (f *findings) read(h hostfile.Host, place hostfile.Place, file, home, here string) {
	name := tilde(file, home)
	data, err := readRegular(file, maxHostFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		f.looked = append(f.looked, name)
		return
	}
	var entries []hostfile.Entry
	if err == nil {
		entries, err = h.Decode(name, data, here)
	}
	if err != nil {
		q, ok := errors.AsType[config.Problem](err)
		if !ok {
			q = config.Problem{File: name, Msg: canon.Reason(err).Error(), Hint: "its entries are not imported"}
		}
		f.problems = append(f.problems, q)
		return
	}
	f.files[h.Name] = append(f.files[h.Name], name)
	for _, e := range entries {
		level := hostfile.User
		switch {
		case place.Project:
			level = hostfile.Project
		case e.Local:
			level = hostfile.Local
		}
		f.entries = append(f.entries, adopt.Found{Host: h, File: name, Dir: filepath.Dir(file), Level: level, Entry: e})
	}
}

// imported prints the plan: the config to stdout or a new file, and to stderr
// what to do in each host.
func (p *program) imported(f *findings, out string, asJSON bool) error {
	plan := adopt.Adopt(f.entries)
	p.err().configProblems(f.problems.InOrder())
	if len(plan.Servers) == 0 {
		return p.nothingFound(f, plan)
	}
	text := plan.JSONC()
	name := out
	if name == "" {
		name = "config.json"
	}
	file, _ := config.Parse(name, config.Explicit, text)
	problems := config.Merge(file).Problems
	if out != "" {
		if err := writeNew(out, text); err != nil {
			return err
		}
	}
	var err error
	switch {
	case asJSON:
		err = p.out().json(importJSON(f, plan, problems))
	case out == "":
		err = p.printed(string(text))
	}
	if err != nil {
		return err
	}
	if !asJSON {
		p.err().configProblems(problems)
		p.err().registering(f, plan, out)
	}
	if f.problems.HasErrors() || problems.HasErrors() {
		return exitCode(1)
	}
	return nil
}

func (p *program) nothingFound(f *findings, plan adopt.Plan) error {
	switch {
	case len(plan.Skipped) > 0:
		p.err().registering(f, plan, "")
		p.err().line("nothing to import: every entry starts mcpx already")
		return nil
	case f.problems.HasErrors():
		return exitCode(1)
	}
	looked := f.looked
	for _, h := range f.hosts {
		looked = append(looked, f.files[h.Name]...)
	}
	slices.Sort(looked)
	return &failure{msg: "no host has an MCP server here", hint: "looked in: " + strings.Join(looked, " ")}
}

// writeNew never writes over a file.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &failure{msg: name + ": is there already", hint: "import writes over nothing: name a new file"}
	}
	if err != nil {
		return &failure{msg: fmt.Sprintf("%s: %v", name, canon.Reason(err)), hint: "name a file in a directory that exists"}
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
