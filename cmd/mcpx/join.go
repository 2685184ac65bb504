package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/client"
	"github.com/dezren39/mcpx/pkg/wire"
)

// join opens the connection that a host in this directory would have: to one
// server, or to all under one roof.
func (p *program) join(ctx context.Context, c *cli.Command, server string, progress func(params []byte)) (*client.Client, error) {
	dirs, err := p.dirs(c)
	if err != nil {
		return nil, err
	}
	version, _ := build()
	o := client.Options{Shim: p.shim(dirs), Name: "mcpx-" + c.Name, Version: version, Progress: progress,
		Say: func(line string) { io.WriteString(p.err(), line+"\n") }}
	o.Shim.Server = server
	if o.Shim.Flags, err = standing(c); err != nil {
		return nil, err
	}
	return client.Open(ctx, o)
}

// stderrLines are how many of a dead server's last lines are shown.
const stderrLines = 5

// refused makes an answer that is an error one for people: which server, what it
// was asked, what is wrong, what to do.
func refused(err error, server, item string) error {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return &failure{msg: strings.TrimPrefix(server+": stopped", ": ")}
	case !ok:
		return err
	case e.Ours():
		f := &failure{msg: e.Message, hint: e.Fix}
		before := e.Stderr[:max(0, len(e.Stderr)-1)] // the last one is in the message
		for _, line := range before[max(0, len(before)-stderrLines):] {
			f.msg += "\nstderr: " + oneLine(line)
		}
		if f.hint == "" && e.Exit != "" {
			f.hint = fmt.Sprintf("run it by hand: mcpx explain %s --shell", e.Server)
		}
		return f
	}
	f := &failure{msg: fmt.Sprintf("%s answered with error %d: %s", strings.TrimSpace(server+" "+item), e.Code, e.Message)}
	if len(e.Data) > 0 {
		f.msg += "\ndata: " + string(e.Data)
	}
	if e.Code == wire.CodeInvalidParams && item != "" {
		f.hint = "what it has, and takes: mcpx tools " + server
	}
	return f
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
