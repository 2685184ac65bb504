package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/shim"
	"github.com/dezren39/mcpx/pkg/source"
)

func trustCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "trust", Usage: "let a project's .mcpx.json start programs", ArgsUsage: "[FILE]",
		Category: change, Description: "mcpx trust ~/src/shop/.mcpx.json",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "do not ask"},
			runtimeDirFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 1); err != nil {
				return err
			}
			loader, dirs, err := p.loader(c)
			if err != nil {
				return err
			}
			path, err := projectFile(c.Args().First(), dirs.Home)
			if err != nil {
				return err
			}
			file, problems, err := loader.ReadProject(path)
			if err != nil {
				return err
			}
			p.err().configProblems(problems)
			if problems.HasErrors() {
				return &failure{msg: path + ": not trusted: it has errors", hint: "mend them, then: mcpx trust " + hostfile.Quote(path)}
			}
			p.out().project(file, dirs.Home)
			if !c.Bool("yes") {
				if err := p.askTrust(ctx, file.Path); err != nil {
					return err
				}
			}
			if err := shim.EnsureDaemon(ctx, p.shim(dirs)); err != nil {
				return err
			}
			return p.withDaemon(c, func(client *api.Client) error {
				done, err := client.Trust(ctx, api.TrustRequest{File: file.Path, SHA256: file.SHA256})
				if err != nil {
					return err
				}
				return p.done(done)
			})
		},
	}
}

func untrustCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "untrust", Usage: "take that back", ArgsUsage: "[FILE]",
		Category: change, Description: "mcpx untrust ~/src/shop/.mcpx.json",
		Flags: []cli.Flag{runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 1); err != nil {
				return err
			}
			dirs, err := p.dirs(c)
			if err != nil {
				return err
			}
			path, err := projectFile(c.Args().First(), dirs.Home)
			if err != nil {
				return err
			}
			if path, err = canon.Deepest(path); err != nil { // the file may be gone
				return err
			}
			return p.withDaemon(c, func(client *api.Client) error {
				done, err := client.Untrust(ctx, api.TrustRequest{File: path})
				if err != nil {
					return err
				}
				return p.done(done)
			})
		},
	}
}

// projectFile is the file named, or the nearest .mcpx.json from here upward,
// below home.
func projectFile(name, home string) (string, error) {
	if name != "" {
		return filepath.Abs(name)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; d != home; d = filepath.Dir(d) {
		path := filepath.Join(d, ".mcpx.json")
		if _, err := os.Lstat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return "", &failure{msg: "no .mcpx.json in " + dir + " or above it", hint: "name one: mcpx trust FILE"}
}

// project shows what a file would start.
func (p printer) project(f *source.ProjectFile, home string) {
	p.line("%s", tilde(f.Path, home))
	cfg := config.Merge(f.Config)
	for _, name := range cfg.Names {
		s := cfg.Servers[name]
		p.line("  %s", name)
		t := table{flex: -1}
		for _, r := range startedBy(s) {
			t.add(row("    "+r[0], r[1])...)
		}
		p.table(t)
	}
}

// startedBy is what a server does to this machine, secrets hidden.
func startedBy(s *config.Resolved) [][2]string {
	var rows [][2]string
	shown := s.Raw().Redacted()
	if s.URL != "" {
		rows = append(rows, [2]string{"asks", shown.URL})
	}
	if s.Command != "" {
		words := []string{quoteShown(s.Command)}
		for _, a := range shown.Args {
			words = append(words, quoteShown(a))
		}
		rows = append(rows, [2]string{"runs", strings.Join(words, " ")})
	}
	if s.Cwd != "" {
		rows = append(rows, [2]string{"in", s.Cwd})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value := shown.Env[name]
		if loaderName.MatchString(name) {
			value = s.Env[name]
		}
		rows = append(rows, [2]string{"sets", name + "=" + value})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		rows = append(rows, [2]string{"sends", name + ": " + masked})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Secrets)) {
		secret := shown.Mcpx.Secrets[name]
		from := "file " + secret.File
		if secret.File == "" {
			from = "command " + strings.Join(secret.Command, " ")
		}
		rows = append(rows, [2]string{"reads", fmt.Sprintf("%s from %s", name, from)})
	}
	return rows
}

// loaderName are variables that decide what code runs: whoever trusts a file
// must see their values (threat T26).
var loaderName = regexp.MustCompile(`^(LD_|DYLD_|NODE_OPTIONS$|PYTHON|PERL5|RUBYOPT$|BASH_ENV$|ENV$|GIT_|PATH$)`)

// askTrust asks a person. Without a terminal there is none to ask.
func (p *program) askTrust(ctx context.Context, path string) error {
	if !isTerminal(p.stdin) {
		return &failure{msg: path + ": not trusted: there is no terminal to ask on", hint: "look at the file, then: mcpx trust --yes " + hostfile.Quote(path)}
	}
	fmt.Fprint(p.stderr, "trust it to start these programs? [y/N] ")
	answer := make(chan string, 1)
	go func() { // ends with the process if nobody answers
		line, err := bufio.NewReader(p.stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return &failure{msg: "not trusted"}
	case a := <-answer:
		if a == "y" || a == "yes" {
			return nil
		}
		return &failure{msg: "not trusted"}
	}
}
