package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
)

func statuslineCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "statusline", Usage: "what this session sees, in a word or two, for a host's status line",
		Category: look, Description: strings.Join([]string{
			"mcpx statusline",
			"MCP all                            no rule takes anything away",
			"MCP gopls +1*                      two servers, by a switch",
			"MCP none                           not one",
			"MCP jira•                          one that is allowed is dead; ! a rule names one that is not there",
			"MCP rules: gopls                   no session runs this: what one here would see",
		}, "\n"),
		Flags: []cli.Flag{sessionFlag(), runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			dirs, err := p.ruleDirs(nil)
			if err != nil {
				return err
			}
			return p.withDaemon(c, func(client *api.Client) error {
				sessions, err := client.Sessions(ctx)
				if err != nil {
					return err
				}
				if s, err := choose(sessions, p.asker(c)); err == nil {
					p.out().line("%s", statusLine(s.Badge, p.out().utf8))
					return nil
				} else if c.String("session") != "" {
					return err
				}
				r, err := client.Rules(ctx, dirs...)
				if err == nil && len(r.Sees) > 0 {
					p.out().line("%s", statusLine("rules: "+r.Sees[0].Badge, p.out().utf8))
				}
				return err
			})
		},
	}
}

// statusLine is what stands in another program's line: letters, digits and a few
// signs, so that no name can be a command there (threat T27). Pure.
func statusLine(badge string, utf8 bool) string {
	var b strings.Builder
	b.WriteString("MCP ")
	for _, r := range badge {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" ._:+*/-!", r):
			b.WriteRune(r)
		case r == '•' && utf8:
			b.WriteRune(r)
		case r == '•':
			b.WriteByte('.')
		}
		if b.Len() > 80 {
			break
		}
	}
	return b.String()
}
