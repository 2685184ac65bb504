package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
)

func logsCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show what servers wrote to stderr", ArgsUsage: "[SERVER]",
		Category: look, Description: "mcpx logs -f gopls",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "f", Aliases: []string{"follow"}, Usage: "go on as they write, until ctrl-C"},
			jsonFlag(), runtimeDirFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 1); err != nil {
				return err
			}
			follow := c.Bool("f")
			show := p.showLog
			if c.Bool("json") {
				show = func(l api.Log) { p.out().jsonLine(l) }
			}
			err := p.withDaemon(c, func(client *api.Client) error {
				return client.Logs(ctx, c.Args().First(), follow, show)
			})
			if follow && ctx.Err() != nil {
				return nil // ctrl-C is how following ends
			}
			return err
		},
	}
}

func (p *program) showLog(l api.Log) {
	at := l.Time
	if t, err := time.Parse(time.RFC3339Nano, l.Time); err == nil {
		at = t.Local().Format(time.TimeOnly)
	}
	p.out().line("%s %s %d  %s", at, l.Server, l.PID, l.Line)
}
