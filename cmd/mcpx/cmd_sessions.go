package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
)

func sessionsCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "sessions", Usage: "what each session sees; switch servers for one", ArgsUsage: "[list|allow|deny|only|none|all|reset ...]",
		Category: change, Description: strings.Join([]string{
			"mcpx sessions                      all that are open",
			"mcpx sessions allow bigquery       for this session, until it ends",
			"mcpx sessions deny jira --session 7f3a",
			"mcpx sessions only gopls           also: none, all",
			"mcpx sessions reset                back to the rules",
		}, "\n"),
		Flags: []cli.Flag{sessionFlag(), jsonFlag(), runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			words := c.Args().Slice()
			if len(words) == 0 {
				words = []string{"list"}
			}
			op, servers := words[0], words[1:]
			switch {
			case op == "list" && len(servers) == 0:
				return p.sessions(ctx, c)
			case slices.Contains([]string{"allow", "deny", "only"}, op) != (len(servers) > 0),
				!slices.Contains([]string{"allow", "deny", "only", "none", "all", "reset"}, op):
				return misuse("usage: "+usageLine(c)+"; mcpx help sessions has examples", "sessions: %q does not go with that", op)
			}
			s, err := p.withSession(ctx, c, func(client *api.Client, s api.SessionStatus) (*api.SessionStatus, error) {
				return client.Switch(ctx, s.ID, api.SwitchRequest{Op: op, Servers: servers})
			})
			return p.sessionAfter(c, s, err)
		},
	}
}

// sessions lists those that are open, or shows the one that is named.
func (p *program) sessions(ctx context.Context, c *cli.Command) error {
	dirs, err := p.dirs(c)
	if err != nil {
		return err
	}
	if c.String("session") != "" {
		s, err := p.withSession(ctx, c, func(_ *api.Client, s api.SessionStatus) (*api.SessionStatus, error) { return &s, nil })
		return p.sessionAfter(c, s, err)
	}
	return p.withDaemon(c, func(client *api.Client) error {
		s, err := client.Status(ctx)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return p.out().json(s.Sessions)
		}
		if len(s.Sessions) == 0 {
			p.out().line("no session is open")
			return nil
		}
		p.out().table(sessionTable(s.Sessions, dirs.Home, time.Now()))
		p.out().byHand(s.Sessions)
		return nil
	})
}

// sessionAfter shows a session as it is after a change.
func (p *program) sessionAfter(c *cli.Command, s *api.SessionStatus, err error) error {
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return p.out().json(s)
	}
	dirs, err := p.dirs(c)
	if err != nil {
		return err
	}
	p.out().session(*s, dirs.Home)
	return nil
}

// session prints one session: where it is, what decides what it sees, and how each
// server is.
func (p printer) session(s api.SessionStatus, home string) {
	p.line("%s: %s in %s", s.ID, cmp.Or(s.Host.Name, "a host"), cmp.Or(tilde(s.Cwd.Path, home), "no directory"))
	t := table{flex: -1}
	for _, r := range s.Roots {
		if r.Ignored == "" {
			t.add(row("  root", tilde(pathOf(r.URI), home), "from "+r.Origin)...)
		}
	}
	rule := "default"
	if s.Rule != nil {
		rule = *s.Rule
	}
	t.add(row("  rule", rule)...)
	if s.Override != nil {
		t.add(row("  switch", *s.Override+", by hand: mcpx sessions reset goes back to the rule")...)
	}
	if s.Frozen != "" {
		t.add(row("  frozen", "it keeps the rules it began with; now they would decide: "+s.Frozen)...)
	}
	t.add(row("  sees", "MCP "+s.Badge)...)
	if len(s.Missing) > 0 {
		t.add(row("  unknown", "the rule names "+strings.Join(s.Missing, ", ")+", and no server is called so")...)
	}
	p.table(t)
	servers := table{flex: -1}
	for _, v := range s.Servers {
		tint := plain
		if !slices.Contains(s.Visible, v.Name) {
			tint = dim
		}
		servers.add(cell{"  " + v.Name, tint}, cell{v.State, tint})
	}
	p.table(servers)
}

// byHand says how sessions that have a switch, or roots that were set, come back.
func (p printer) byHand(sessions []api.SessionStatus) {
	for _, s := range sessions {
		if s.Override != nil {
			p.line("* switched by hand: mcpx sessions reset --session %s", s.ID)
		}
	}
}
