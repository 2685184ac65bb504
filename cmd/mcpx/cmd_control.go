package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
)

func restartCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "restart", Usage: "stop processes; the next call starts them afresh", ArgsUsage: "[SERVER [KEY]]",
		Category:    change,
		Description: "mcpx restart gopls worktree:/home/you/src/shop",
		Flags:       []cli.Flag{runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 2); err != nil {
				return err
			}
			return p.withDaemon(c, func(client *api.Client) error {
				done, err := client.Restart(ctx, api.RestartRequest{Server: c.Args().Get(0), Key: c.Args().Get(1)})
				if err != nil {
					return err
				}
				return p.done(done)
			})
		},
	}
}

func reloadCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "reload", Usage: "read the config again",
		Category: change, Description: "mcpx reload",
		Flags: []cli.Flag{runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			return p.withDaemon(c, func(client *api.Client) error {
				done, err := client.Reload(ctx)
				if err != nil {
					return err
				}
				return p.done(done)
			})
		},
	}
}

func stopCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "stop", Usage: "end the daemon and every server; returns when they are gone",
		Category: change, Description: "mcpx stop",
		Flags: []cli.Flag{runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			err := p.withDaemon(c, func(client *api.Client) error { return client.Stop(ctx) })
			if none, ok := errors.AsType[*noDaemonError](err); ok {
				p.out().line("no daemon was running on %s", none.socket)
				return nil
			}
			if err == nil {
				p.out().line("stopped")
			}
			return err
		},
	}
}

// done prints what a change came to. Its problems are no reason to think that
// it was not made, and still end with 1.
func (p *program) done(d *api.Done) error {
	p.out().line("%s", d.Message)
	if p.err().problems(d.Problems) {
		return exitCode(1)
	}
	return nil
}
