package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/fleet"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/render"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/visibility"
)

func checkCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "validate config files or fleet folders (else what is seen from here)", ArgsUsage: "[FILE...]",
		Category: look, Description: "mcpx check .mcpx.json\nmcpx check fleet",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			cfg, err := p.checked(ctx, c)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = p.out().json(api.Problems(cfg.Problems))
			} else {
				p.out().checked(cfg)
			}
			if err == nil && cfg.Problems.HasErrors() {
				return exitCode(1)
			}
			return err
		},
	}
}

// checked is the view of the files named, each judged as it would be in its
// place, or of those that a session here would read.
func (p *program) checked(ctx context.Context, c *cli.Command) (*config.Config, error) {
	if c.Args().Present() {
		dirs, err := p.dirs(c)
		if err != nil {
			return nil, err
		}
		return checkFiles(dirs, c.Args().Slice())
	}
	v, err := p.view(ctx, c)
	if err != nil {
		return nil, err
	}
	// A file that is not trusted yet has no say, and is still worth checking.
	seen := map[string]bool{}
	for _, u := range v.cfg.Untrusted {
		if seen[u.File] {
			continue
		}
		seen[u.File] = true
		more, err := checkFiles(v.dirs, []string{u.File})
		if err != nil {
			return nil, err
		}
		v.cfg.Files = append(v.cfg.Files, more.Files...)
		v.cfg.Problems = append(v.cfg.Problems, more.Problems...)
	}
	if len(v.cfg.Files) == 0 && len(v.cfg.Problems) == 0 {
		return nil, noServers(v.dirs)
	}
	return v.cfg, nil
}

// checkFiles checks each file by itself: an override of one would hide what is
// wrong in another.
func checkFiles(dirs place.Dirs, names []string) (*config.Config, error) {
	all := &config.Config{}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(name, render.SharedName)); err == nil {
			if err := checkFleet(all, name); err != nil {
				return nil, err
			}
			continue
		}
		data, err := readConfig(name)
		if err != nil {
			return nil, err
		}
		if filepath.Base(name) == render.RulesName {
			_, problems := visibility.Parse(name, data)
			all.Files = append(all.Files, name)
			all.Problems = append(all.Problems, problems...)
			continue
		}
		file, _ := config.Parse(name, tierOf(dirs, name), data) // the view has its problems, too
		view := config.Merge(file)
		all.Files = append(all.Files, name)
		all.Names = append(all.Names, view.Names...)
		all.Problems = append(all.Problems, view.Problems...)
	}
	return all, nil
}

// checkFleet checks a fleet folder as a whole: each file by itself says little.
func checkFleet(all *config.Config, dir string) error {
	tree, err := fleet.Read(dir)
	if err != nil {
		return err
	}
	in := render.Input{Files: tree.Files, Dir: dir}
	for name := range tree.Files {
		all.Files = append(all.Files, filepath.Join(dir, name))
	}
	all.Names = append(all.Names, render.Servers(in)...)
	all.Problems = append(all.Problems, render.Check(in)...)
	return nil
}

// tierOf is what a file would be where it lies: one called .mcpx.json is a
// project's, but for the one in the home directory.
func tierOf(dirs place.Dirs, name string) config.Tier {
	if filepath.Base(name) != ".mcpx.json" {
		return config.Explicit
	}
	if path, err := canon.Path(name); err == nil && filepath.Dir(path) == dirs.Home {
		return config.User
	}
	return config.Project
}

func readConfig(name string) ([]byte, error) {
	data, err := readRegular(name, source.MaxSize)
	if err != nil {
		return nil, &failure{msg: fmt.Sprintf("%s: %v", name, canon.Reason(err)), hint: "name a config file: mcpx check .mcpx.json"}
	}
	return data, nil
}

// checked prints the problems and counts them.
func (p printer) checked(cfg *config.Config) {
	p.configProblems(cfg.Problems)
	files := plural(len(cfg.Files), "file", "files")
	if n := len(cfg.Problems); n > 0 {
		p.line("%s in %s", plural(n, "problem", "problems"), files)
		return
	}
	p.line("ok: %s in %s", plural(len(cfg.Names), "server", "servers"), files)
}

// configProblems prints each problem as file:line:column: server: field: message.
func (p printer) configProblems(list config.Problems) { p.problems(api.Problems(list)) }
