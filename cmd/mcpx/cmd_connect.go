package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/shim"
)

// connectCommand is what a host starts. Whoever starts the daemon chooses the
// config, so there is no flag for it here (design D11).
func connectCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "connect", Usage: "serve one server, or all as one, to the host that starts this", ArgsUsage: "[SERVER]",
		Category:    serve,
		Description: `{"mcpServers": {"gopls": {"command": "mcpx", "args": ["connect", "gopls"]}}}`,
		Flags:       append(callerFlags(), runtimeDirFlag()),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 1); err != nil {
				return err
			}
			dirs, err := p.dirs(c)
			if err != nil {
				return err
			}
			o := p.shim(dirs)
			o.Server = c.Args().First()
			if o.Flags, err = standing(c); err != nil {
				return err
			}
			code, err := shim.Run(ctx, o)
			if err == nil && code != 0 {
				return exitCode(code)
			}
			return err
		},
	}
}

// shim is what is the same in all that may start a daemon.
func (p *program) shim(dirs place.Dirs) shim.Options {
	_, id := build()
	return shim.Options{
		Dirs: dirs, Build: id, Getenv: p.getenv, Argv0: p.argv0,
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.err(),
	}
}

// callerFlags say who calls and from where.
func callerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "cwd", Usage: "the session's directory (MCPX_CWD)"},
		&cli.StringFlag{Name: "session", Usage: "the session's name (MCPX_SESSION_ID)"},
		&cli.StringFlag{Name: "parent", Usage: "the parent session's name (MCPX_PARENT_SESSION_ID)"},
	}
}

func flagsOf(c *cli.Command) api.Flags {
	return api.Flags{Cwd: c.String("cwd"), Session: c.String("session"), Parent: c.String("parent")}
}

// standing are the flags for a daemon, which does not know where a relative --cwd
// begins.
func standing(c *cli.Command) (api.Flags, error) {
	f := flagsOf(c)
	if f.Cwd == "" {
		return f, nil
	}
	var err error
	f.Cwd, err = filepath.Abs(f.Cwd)
	return f, err
}
