package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

func doctorCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "look for what is wrong here, and say how to mend it",
		Category: look, Description: "mcpx doctor",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "cwd", Usage: "the session's directory (MCPX_CWD)"},
			jsonFlag(), runtimeDirFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			f, err := p.gather(ctx, c)
			if err != nil {
				return err
			}
			found := diagnose(f)
			if c.Bool("json") {
				err = p.out().json(found)
			} else {
				p.out().findings(found)
			}
			if err == nil && anyFails(found) {
				return exitCode(1)
			}
			return err
		},
	}
}

// findings prints a line for each, and below it what to do.
func (p printer) findings(found []finding) {
	t := table{flex: -1}
	tones := map[level]tone{levelOK: green, levelWarn: yellow, levelFail: red}
	for _, f := range found {
		t.add(cell{string(f.Level), tones[f.Level]}, cell{text: f.About}, cell{text: f.Message})
		if f.Fix != "" {
			t.add(cell{text: "        fix: " + f.Fix})
		}
	}
	p.table(t)
}

func anyFails(found []finding) bool {
	for _, f := range found {
		if f.Level == levelFail {
			return true
		}
	}
	return false
}
