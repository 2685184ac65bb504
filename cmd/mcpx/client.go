package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/socket"
)

// withDaemon asks the daemon that runs. It starts none: that is for connect, trust
// and what goes the way of a host.
func (p *program) withDaemon(c *cli.Command, ask func(*api.Client) error) error {
	dirs, err := p.dirs(c)
	if err != nil {
		return err
	}
	client, err := api.Open(dirs.Runtime)
	if errors.Is(err, socket.ErrNoDaemon) {
		return noDaemon(dirs.Runtime)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if err := ask(client); !errors.Is(err, socket.ErrNoDaemon) {
		return err
	}
	return noDaemon(dirs.Runtime)
}

func noDaemon(runtimeDir string) error {
	return &noDaemonError{socket: filepath.Join(runtimeDir, socket.Control)}
}

type noDaemonError struct{ socket string }

func (e *noDaemonError) Error() string { return "no daemon on " + e.socket }

// Hint says how a daemon comes to be.
func (e *noDaemonError) Hint() string {
	return "start it with: mcpx daemon   (mcpx connect starts it by itself)"
}

// daemonStatus is the status of the daemon of a runtime directory.
func daemonStatus(ctx context.Context, runtimeDir string) (*api.Status, error) {
	client, err := api.Open(runtimeDir)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Status(ctx)
}

// problems prints what the daemon found wrong, and reports whether any of it is
// an error.
func (p printer) problems(list []api.Problem) (failed bool) {
	for _, q := range list {
		p.line("%s%s", problemLine(q.Warning, q.Where, q.Server, q.Field, q.Message), ruleMark(q.Rule))
		p.hint(q.Hint)
		failed = failed || !q.Warning
	}
	return failed
}

// ruleMark names the rule that is broken, so that one can look it up.
func ruleMark(rule string) string {
	if rule == "" {
		return ""
	}
	return "   [" + rule + "]"
}

// problemLine is where, which server, which field, what is wrong.
func problemLine(warning bool, parts ...string) string {
	line := ""
	for i, part := range parts {
		if i == 1 && warning {
			line += "warning: "
		}
		if part == "" {
			continue
		}
		line += part
		if i < len(parts)-1 {
			line += ": "
		}
	}
	return line
}
