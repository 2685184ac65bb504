package main

import (
	"context"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/config"
)

func configCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "print the merged config as it is seen from here",
		Category: look, Description: "mcpx config --sources",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "sources", Usage: "print which file each value came from"},
			&cli.BoolFlag{Name: "reveal", Usage: "print masked values too (only on a terminal)"},
			&cli.StringFlag{Name: "cwd", Usage: "the session's directory (MCPX_CWD)"},
			jsonFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			reveal := c.Bool("reveal")
			if reveal && !isTerminal(p.stdout) {
				return notRevealed()
			}
			v, err := p.view(ctx, c)
			if err != nil {
				return err
			}
			p.err().configProblems(v.cfg.Problems)
			if len(v.cfg.Names) == 0 && len(v.cfg.Problems) == 0 {
				return noServers(v.dirs)
			}
			switch {
			case c.Bool("sources") && c.Bool("json"):
				err = p.out().json(sourceRows(v.cfg))
			case c.Bool("sources"):
				p.out().sources(sourceRows(v.cfg), v.dirs.Home)
			default:
				err = p.printConfig(v.cfg, reveal)
			}
			if err == nil && v.cfg.Problems.HasErrors() {
				return exitCode(1)
			}
			return err
		},
	}
}

// printConfig prints the view in the form of a file, placeholders as written.
func (p *program) printConfig(cfg *config.Config, reveal bool) error {
	data, err := cfg.Print(reveal)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, escapeJSON(string(data)))
	return err
}

// sourceRow is one value and the place it was written at.
type sourceRow struct {
	Server string `json:"server"`
	Field  string `json:"field"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Col    int    `json:"col"`
}

// sourceRows leaves out what only holds others: args, where args[0] has a row.
func sourceRows(cfg *config.Config) []sourceRow {
	rows := []sourceRow{}
	for _, s := range cfg.Sources() {
		switch s.Field {
		case "", "args", "env", "headers", "mcpx", "mcpx.secrets":
			continue
		}
		rows = append(rows, sourceRow{s.Server, s.Field, s.Origin.File, s.Origin.Line, s.Origin.Col})
	}
	return rows
}

func (p printer) sources(rows []sourceRow, home string) {
	t := table{flex: -1}
	t.add(heading("SERVER", "FIELD", "FROM")...)
	last := ""
	for _, r := range rows {
		name := r.Server
		if name == last {
			name = ""
		}
		last = r.Server
		t.add(row(name, r.Field, tilde(position(config.Origin{File: r.File, Line: r.Line}), home))...)
	}
	p.table(t)
}
