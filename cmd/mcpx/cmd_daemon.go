package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/daemon"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/shim"
)

func daemonCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "daemon", Usage: "run the daemon here (connect starts one by itself)",
		Category:    serve,
		Description: "mcpx daemon --config ./servers.json",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "config", Usage: "read this instead of the user's files; may be repeated (MCPX_CONFIG)"},
			runtimeDirFlag(),
			&cli.BoolFlag{Name: "autostarted", Hidden: true},
			&cli.BoolFlag{Name: "detach", Hidden: true},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			detach := c.Bool("detach")
			auto := c.Bool("autostarted") || detach
			dirs, err := place.Find(place.Options{Getenv: p.getenv, RuntimeDir: c.String("runtime-dir"), XDG: !auto})
			if err != nil {
				return err
			}
			if detach {
				return p.detach(ctx, dirs)
			}
			explicit, err := p.explicit(c.StringSlice("config"), auto)
			if err != nil {
				return err
			}
			passed, err := passedSockets()
			if err != nil {
				return err
			}
			ver, _ := build()
			err = daemon.Run(ctx, daemon.Options{
				Dirs: dirs, Explicit: explicit, Autostarted: auto, Supervised: passed != nil || p.supervised(),
				Version: ver, Environ: p.environ, Sockets: passed, Notify: notify,
				// Whoever started us reads it: a person, the journal, or the log
				// file that connect gives to a daemon it starts.
				Log: slog.New(slog.NewTextHandler(p.stderr, nil)),
			})
			if errors.Is(err, daemon.ErrRunning) {
				return &failure{msg: err.Error(), hint: "look at it: mcpx status   end it: mcpx stop"}
			}
			return err
		},
	}
}

// detach starts the daemon for a shim and ends, see shim.Detach.
func (p *program) detach(ctx context.Context, dirs place.Dirs) error {
	code, err := shim.Detach(ctx, shim.Options{Dirs: dirs, Argv0: p.argv0, Getenv: p.getenv, Stdout: os.Stdout, Stderr: p.stderr})
	if err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}

// explicit is the config that replaces the search. The variable of whoever
// happened to come first never chooses the config of an autostarted daemon.
func (p *program) explicit(flags []string, auto bool) ([]string, error) {
	files := flags
	if len(files) == 0 && !auto {
		files = filepath.SplitList(p.getenv("MCPX_CONFIG"))
	}
	paths := make([]string, 0, len(files))
	for _, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, &failure{msg: fmt.Sprintf("config: %s: %v", f, canon.Reason(err)), hint: "name a file that exists, or leave it out: mcpx reads ~/.config/mcpx/config.json"}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// supervised reports whether systemd or launchd started this very process; the
// variables of an ancestor that they started do not count.
func (p *program) supervised() bool {
	if p.getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid()) {
		return true
	}
	service := p.getenv("XPC_SERVICE_NAME")
	return os.Getppid() == 1 && service != "" && service != "0"
}
