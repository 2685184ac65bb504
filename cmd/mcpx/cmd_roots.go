package main

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
)

func rootsCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "roots", Usage: "where a session works; set it by hand", ArgsUsage: "[list|add|remove|set|reset DIR...]",
		Category: change, Description: strings.Join([]string{
			"mcpx roots                         of this session, and who said so",
			"mcpx roots set ~/src/shop-feature  its next call goes there",
			"mcpx roots add ~/src/lib",
			"mcpx roots reset                   back to what its host says",
		}, "\n"),
		Flags: []cli.Flag{sessionFlag(), jsonFlag(), runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			words := c.Args().Slice()
			if len(words) == 0 {
				words = []string{"list"}
			}
			op := words[0]
			var dirs []string
			for _, w := range words[1:] {
				dir, err := filepath.Abs(w)
				if err != nil {
					return err
				}
				dirs = append(dirs, dir)
			}
			switch {
			case slices.Contains([]string{"add", "remove", "set"}, op) != (len(dirs) > 0),
				!slices.Contains([]string{"list", "add", "remove", "set", "reset"}, op):
				return misuse("usage: "+usageLine(c)+"; mcpx help roots has examples", "roots: %q does not go with that", op)
			}
			s, err := p.withSession(ctx, c, func(client *api.Client, s api.SessionStatus) (*api.SessionStatus, error) {
				if op == "list" {
					return &s, nil
				}
				return client.Roots(ctx, s.ID, api.RootsRequest{Op: op, Dirs: dirs})
			})
			return p.rootsAfter(c, s, err)
		},
	}
}

// rootsAfter shows a session's roots, each with who said so.
func (p *program) rootsAfter(c *cli.Command, s *api.SessionStatus, err error) error {
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return p.out().json(s.Roots)
	}
	dirs, err := p.dirs(c)
	if err != nil {
		return err
	}
	t := table{flex: 0}
	t.add(heading("ROOT", "FROM")...)
	for _, r := range s.Roots {
		from := r.Origin
		if r.Ignored != "" {
			from += ", ignored: " + r.Ignored
		}
		t.add(cell{text: tilde(pathOf(r.URI), dirs.Home)}, cell{text: from})
	}
	p.out().table(t)
	if len(s.Roots) == 0 {
		p.out().line("none: the session's host names no directory")
	}
	return nil
}

// pathOf is the path of a file URI; any other is shown as it is.
func pathOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return uri
}
