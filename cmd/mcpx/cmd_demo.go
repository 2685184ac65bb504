package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/demo"
)

func demoCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "prove it on this machine, with nothing configured",
		Category: serve, Description: "mcpx demo --gopls",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "gopls", Usage: "with a real gopls, from PATH or built by go (minutes)"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			moving := p.startProgress()
			report, err := demo.Run(ctx, demo.Options{
				Executable: exe, Environ: p.environ, Home: p.getenv("HOME"),
				Gopls: c.Bool("gopls"), Progress: moving.show,
			})
			moving.end()
			if ctx.Err() != nil {
				return &failure{msg: "demo: stopped; nothing of it is left"}
			}
			if err != nil {
				return fmt.Errorf("demo: %w", err)
			}
			return p.demoReport(report, c.Bool("gopls"))
		},
	}
}

// demoServerCommand is the server of the demo.
func demoServerCommand(*program) *cli.Command {
	return &cli.Command{
		Name: "demo-server", Usage: "the MCP server of mcpx demo", Hidden: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			ver, _ := build()
			return demo.Serve(ctx, ver)
		},
	}
}

func (p *program) demoReport(r *demo.Report, gopls bool) error {
	out := p.out()
	what := "one server"
	if gopls {
		what = "one gopls"
	}
	out.line(`a repository, a linked worktree, three sessions, %s at scope "worktree"`, what)
	out.line("")
	t := table{flex: -1}
	t.add(heading("SESSION", "DIRECTORY", "PROCESS", "RUNS IN", "TOLD ITS ROOT IS", "SAW", "")...)
	wrong := 0
	base := commonBase(r.Sessions)
	for i, s := range r.Sessions {
		verdict := cell{"ok", green}
		if len(s.Wrong) > 0 {
			verdict = cell{"wrong", red}
			wrong++
		}
		note := ""
		if s.Peer > 0 {
			note = fmt.Sprintf("shares with %d", s.Peer)
		}
		t.add(append(row(fmt.Sprint(i+1), below(s.Dir, base), fmt.Sprint(s.PID), below(s.RunIn, base),
			shortURIs(s.Roots), strings.Join(s.Saw, " ")), verdict, cell{text: note})...)
	}
	out.table(t)
	out.line("")
	replaced := ""
	if r.Replaced {
		replaced = " · daemon killed and replaced in between: no session noticed"
	}
	out.line("%s for %s · first answer %s, then %s%s", plural(r.Processes, "process", "processes"),
		plural(len(r.Sessions), "session", "sessions"), millis(r.First), millis(r.Then), replaced)
	if wrong == 0 {
		out.line("Next: mcpx import               what your hosts start today, and the config that replaces it")
		return nil
	}
	for i, s := range r.Sessions {
		for _, w := range s.Wrong {
			p.err().line("mcpx: demo: session %d: %s", i+1, w)
		}
	}
	return exitCode(1)
}

// commonBase is the directory that holds the demo's checkouts.
func commonBase(sessions []demo.Session) string {
	if len(sessions) == 0 {
		return ""
	}
	return filepath.Dir(sessions[0].Dir)
}

func below(path, base string) string {
	if rel, ok := strings.CutPrefix(path, base+"/"); ok {
		return rel
	}
	return path
}

// shortURIs keeps the ends, which tell checkouts apart.
func shortURIs(uris []string) string {
	short := make([]string, len(uris))
	for i, u := range uris {
		short[i] = "file:///…/" + filepath.Base(u)
	}
	if len(short) == 0 {
		return "-"
	}
	return strings.Join(short, " ")
}

func millis(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.0f s", ms/1000)
	}
}
