package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/daemon"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/socket"
	"github.com/dezren39/mcpx/pkg/visibility"
)

func rulesCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "rules", Usage: "which servers sessions see, by directory", ArgsUsage: "[list|set|unset|test ...]",
		Category: change, Description: strings.Join([]string{
			"mcpx rules                         what is written",
			"mcpx rules set ~/src/web playwright context7",
			"mcpx rules set ~/scratch none      or all; PATH may be default",
			"mcpx rules unset ~/scratch",
			"mcpx rules test ~/src/web          what a session there would see",
		}, "\n"),
		Flags: []cli.Flag{jsonFlag(), runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			words := c.Args().Slice()
			if len(words) == 0 {
				words = []string{"list"}
			}
			rest := words[1:]
			switch op := words[0]; {
			case op == "list" && len(rest) == 0:
				return p.rules(ctx, c, nil)
			case op == "test":
				dirs, err := p.ruleDirs(rest)
				if err != nil {
					return err
				}
				return p.rules(ctx, c, dirs)
			case op == "set" && len(rest) >= 2, op == "unset" && len(rest) == 1 && rest[0] != "default":
				return p.editRules(ctx, c, op, rest)
			default:
				return misuse("usage: "+usageLine(c)+"; mcpx help rules has examples", "rules: %q does not go with that", op)
			}
		},
	}
}

// ruleDirs are the directories to be tested, which need not exist.
func (p *program) ruleDirs(words []string) (dirs []string, err error) {
	if len(words) == 0 {
		words = []string{"."}
	}
	for _, w := range words {
		dir, err := filepath.Abs(w)
		if err == nil {
			dir, err = canon.Deepest(dir)
		}
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// rules shows the document, or what sessions in dirs would see: as the daemon that
// runs has it, else as one would read it.
func (p *program) rules(ctx context.Context, c *cli.Command, dirs []string) error {
	r, home, err := p.readRules(ctx, c, dirs)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return p.out().json(r)
	}
	if dirs == nil {
		p.out().rules(r, home)
	} else {
		p.out().tested(r, home)
	}
	if p.err().problems(r.Problems) {
		return exitCode(1)
	}
	return nil
}

func (p *program) readRules(ctx context.Context, c *cli.Command, dirs []string) (*api.Rules, string, error) {
	loader, where, err := p.loader(c)
	if err != nil {
		return nil, "", err
	}
	var r *api.Rules
	err = p.withDaemon(c, func(client *api.Client) error {
		var err error
		r, err = client.Rules(ctx, dirs...)
		return err
	})
	if isNoDaemon(err) {
		read := daemon.RulesOf(loader, dirs)
		r, err = &read, nil
	}
	return r, where.Home, err
}

func isNoDaemon(err error) bool {
	_, none := errors.AsType[*noDaemonError](err)
	return none || errors.Is(err, socket.ErrNoDaemon)
}

// editRules has the daemon change the document; without one it is done here.
func (p *program) editRules(ctx context.Context, c *cli.Command, op string, words []string) error {
	loader, dirs, err := p.loader(c)
	if err != nil {
		return err
	}
	req := api.RulesRequest{Op: op, Path: words[0]}
	if words[0] == "default" {
		req = api.RulesRequest{Op: "default"}
	} else if req.Path, err = rulePath(op, words[0], dirs); err != nil {
		return err
	}
	if op == "set" {
		if req.Servers, err = allowed(words[1:]); err != nil {
			return err
		}
	}
	var r *api.Rules
	err = p.withDaemon(c, func(client *api.Client) error {
		var err error
		r, err = client.EditRules(ctx, req)
		return err
	})
	if isNoDaemon(err) {
		err = daemon.EditRules(loader, req, nil, func(widened string) error {
			if loader.View("").Daemon.Approve == config.ApproveNever {
				return &failure{msg: widened + `, and "approve" is "never" in the daemon block`, hint: "edit the file"}
			}
			return nil
		})
		loader.Reload()
		now := daemon.RulesOf(loader, nil)
		r = &now
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return p.out().json(r)
	}
	p.out().rules(r, dirs.Home)
	p.err().problems(r.Problems) // warnings: what has errors was not written
	return nil
}

// rulePath is how a directory is written into the document: from home where it is
// below it, so that the document goes for another machine too.
func rulePath(op, word string, dirs place.Dirs) (string, error) {
	if strings.HasPrefix(word, "~/") || word == "~" || strings.HasPrefix(word, "$HOME/") {
		return strings.TrimSuffix(word, "/"), nil
	}
	dir, err := filepath.Abs(word)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(dir); err != nil && op == "set" {
		return "", &failure{msg: fmt.Sprintf("rules: %s: %v", word, canon.Reason(err)), hint: "name a directory that exists, or write it from ~/"}
	}
	return tilde(dir, dirs.Home), nil
}

// allowed reads servers as they are typed: names, or all, or none.
func allowed(words []string) (visibility.Allow, error) {
	switch {
	case len(words) == 1 && (words[0] == "all" || words[0] == "*"):
		return visibility.Allow{All: true}, nil
	case len(words) == 1 && words[0] == "none":
		return visibility.Allow{}, nil
	}
	for _, w := range words {
		if w == "all" || w == "none" {
			return visibility.Allow{}, misuse("all and none stand alone", "rules: %q beside other servers", w)
		}
	}
	return visibility.Allow{Servers: words}, nil
}

// rules prints the document.
func (p printer) rules(r *api.Rules, home string) {
	switch {
	case r.Broken:
		p.line("%s cannot be read; until it is mended every session sees %s", tilde(r.Path, home), r.Default)
		return
	case !r.Exists:
		p.line("no rules yet: every session sees every server; they would be in %s", tilde(r.Path, home))
		return
	}
	p.line("%s", tilde(r.Path, home))
	t := table{flex: 0}
	t.add(heading("PATH", "SERVERS")...)
	for _, row := range r.Rules {
		t.add(cell{text: row.Path}, cell{text: row.Servers.String()})
	}
	t.add(cell{text: "default"}, cell{text: r.Default.String()})
	p.table(t)
}

// tested prints what sessions would see.
func (p printer) tested(r *api.Rules, home string) {
	for _, s := range r.Sees {
		why := "default"
		if s.Rule != nil {
			why = "rule " + *s.Rule
		}
		p.line("%s: %s → %s", tilde(s.Dir, home), why, s.Servers)
		t := table{flex: -1}
		for _, line := range []struct {
			what  string
			names []string
		}{{"sees", s.Visible}, {"hidden", s.Hidden}, {"unknown", s.Missing}} {
			if len(line.names) > 0 {
				t.add(row("  "+line.what, strings.Join(line.names, " "))...)
			}
		}
		p.table(t)
	}
}
