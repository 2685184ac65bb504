package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/socket"
)

func explainCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "why a server runs where it does, from this directory", ArgsUsage: "SERVER|--all",
		Category: look, Description: "mcpx explain gopls --cwd ~/src/shop\nmcpx explain gopls --shell",
		Flags: append(callerFlags(),
			&cli.BoolFlag{Name: "all", Usage: "every server that is seen from here"},
			&cli.BoolFlag{Name: "shell", Usage: "print the command line to start it by hand"},
			&cli.BoolFlag{Name: "reveal", Usage: "with --shell: print masked values too (only on a terminal)"},
			jsonFlag(), runtimeDirFlag(),
		),
		Action: func(ctx context.Context, c *cli.Command) error {
			all := c.Bool("all")
			least := 1
			if all {
				least = 0
			}
			if err := takes(c, least, least); err != nil {
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
			names := v.cfg.Names
			if !all {
				if _, err := v.server(c.Args().First()); err != nil {
					return err
				}
				names = c.Args().Slice()
			} else if len(names) == 0 {
				return noServers(v.dirs)
			}
			list := make([]explained, len(names))
			for i, name := range names {
				list[i] = v.explain(v.cfg.Servers[name])
			}
			switch {
			case c.Bool("shell"):
				return p.explainShell(list, v.dirs.Home, reveal)
			case c.Bool("json"):
				return p.explainJSON(list, all)
			}
			s, err := daemonStatus(ctx, v.dirs.Runtime)
			return p.explainText(v, list, s, err)
		},
	}
}

func notRevealed() error {
	return misuse("look at it on a terminal, without a pipe", "--reveal prints secrets, and this is not a terminal")
}

func (p *program) explainShell(list []explained, home string, reveal bool) error {
	var first error
	for _, e := range list {
		switch {
		case e.err != nil:
			if first == nil {
				first = e.err
			}
		case e.plan.URL != "":
			p.out().line("# %s is a remote: %s", e.Server, shownURL(e.plan.URL))
		default:
			p.out().line("%s", shellLine(e.plan, home, reveal))
		}
	}
	return first
}

func (p *program) explainJSON(list []explained, all bool) error {
	var err error
	if all {
		err = p.out().json(list)
	} else {
		err = p.out().json(list[0])
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.err != nil {
			return e.err
		}
	}
	return nil
}

func (p *program) explainText(v *view, list []explained, s *api.Status, unasked error) error {
	out := p.out()
	failed := false
	for i, e := range list {
		if i > 0 {
			fmt.Fprintln(out.w)
		}
		out.line("%s in %s", e.Server, tilde(v.cc.Cwd, v.dirs.Home))
		t := table{flex: -1}
		for _, r := range v.lines(e) {
			t.add(row(append([]string{"  " + r[0]}, r[1:]...)...)...)
		}
		if text := v.switched(s, e.Server); text != "" {
			t.add(row("  switch", text)...)
		}
		t.add(row("  now", e.now(s, unasked))...)
		out.table(t)
		failed = failed || e.err != nil
	}
	if s != nil && !slices.ContainsFunc(s.Daemon.Config, v.reads) && len(s.Daemon.Config) > 0 {
		p.err().line("mcpx: the daemon that runs was started with another config: %s", strings.Join(s.Daemon.Config, " "))
		p.err().hint("what is explained here holds once it is stopped: mcpx stop")
	}
	if failed {
		return exitCode(1)
	}
	return nil
}

// reads reports whether file takes part in the view, or would if it were mended.
func (v *view) reads(file string) bool {
	return slices.Contains(v.cfg.Files, file) ||
		slices.ContainsFunc(v.cfg.Problems, func(q config.Problem) bool { return q.File == file })
}

// now is what the running daemon says about the same key; unasked is why it says
// nothing.
func (e *explained) now(s *api.Status, unasked error) string {
	switch {
	case e.server.Disabled:
		return "not running: it is disabled"
	case errors.Is(unasked, socket.ErrNoDaemon):
		return "no daemon runs"
	case unasked != nil:
		return "not known: " + unasked.Error()
	}
	for _, in := range s.Instances {
		if in.Server != e.Server || in.Key != e.Key {
			continue
		}
		if in.PID == 0 {
			return in.State
		}
		return fmt.Sprintf("%s, pid %d, %s, %s", in.State, in.PID,
			plural(int(in.Calls), "call", "calls"), plural(in.Sessions, "session", "sessions"))
	}
	if !e.Visible {
		return "not running, and nobody here can start it"
	}
	return "not running: the first call starts it"
}
