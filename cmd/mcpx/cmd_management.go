package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/manage"
)

// managementServerCommand is a server for a config to name: mcpx's own tools.
func managementServerCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "management-server", Usage: "the MCP server of mcpx's own tools, for a config to name", Hidden: true,
		Flags: []cli.Flag{runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			loader, dirs, err := p.loader(c)
			if err != nil {
				return err
			}
			version, _ := build()
			return manage.Serve(ctx, version, dirs.Runtime, loader.View("").Daemon.ManagementTools)
		},
	}
}
