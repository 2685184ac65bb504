package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/shim"
)

func uiCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "ui", Usage: "a page to look at sessions, servers and rules, and to switch them",
		Category: change, Description: "mcpx ui\nmcpx ui --print                    the address, for a browser that you open",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "print", Usage: "print the address, open no browser"},
			runtimeDirFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			return p.ui(ctx, c)
		},
	}
}

// ui has the daemon serve the page and sends a browser there. The browser is
// given a file that only this user can read, since everybody can read what a
// program is started with (threat T32).
func (p *program) ui(ctx context.Context, c *cli.Command) error {
	dirs, err := p.dirs(c)
	if err != nil {
		return err
	}
	if err := shim.EnsureDaemon(ctx, p.shim(dirs)); err != nil {
		return err
	}
	return p.withDaemon(c, func(client *api.Client) error {
		link, err := client.OpenPage(ctx)
		if err != nil {
			return err
		}
		if !c.Bool("print") {
			if err := openBrowser((&url.URL{Scheme: "file", Path: link.File}).String()); err == nil {
				address, _, _ := strings.Cut(link.Address, "#")
				p.out().line("opened %s in a browser; mcpx ui opens it again", address)
				return nil
			}
			p.err().line("no browser could be started: open this address, once and within a minute")
		}
		fmt.Fprintln(p.stdout, link.Address)
		return nil
	})
}
