package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/client"
	"github.com/dezren39/mcpx/pkg/roof"
)

func toolsCommand(p *program) *cli.Command {
	return listCommand(p, "tools", "list the tools that a host in this directory has",
		"mcpx tools\nmcpx tools gopls --search symbol", roof.Tools)
}

func promptsCommand(p *program) *cli.Command {
	return listCommand(p, "prompts", "list the prompts that a host in this directory has", "mcpx prompts memory", roof.Prompts)
}

func resourcesCommand(p *program) *cli.Command {
	return listCommand(p, "resources", "list the resources that a host in this directory has", "mcpx resources --search schema",
		roof.Resources, roof.Templates)
}

// listCommand lists what one server offers, under its own names, or all do, under
// those of one roof.
func listCommand(p *program, name, usage, example string, kinds ...roof.Kind) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "[SERVER]",
		Category: use, Description: example,
		Flags: append(callerFlags(),
			&cli.StringFlag{Name: "search", Usage: "only those with all these words in name or description"},
			jsonFlag(), runtimeDirFlag()),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 1); err != nil {
				return err
			}
			server := c.Args().First()
			lists, err := p.lists(ctx, c, server, kinds)
			if err != nil {
				return err
			}
			search := strings.Fields(c.String("search"))
			if c.Bool("json") {
				err = p.out().rawJSON(joined(lists, search))
			} else {
				err = p.offers(ctx, c, lists, server, search)
			}
			missing := troubles(lists, server)
			for _, trouble := range missing {
				p.err().line("mcpx: %s", oneLine(trouble))
			}
			if len(missing) > 0 {
				p.err().hint(fmt.Sprintf("mcpx status says more; mcpx %s SERVER waits for one that only starts slowly", c.Name))
			}
			return err
		},
	}
}

// lists asks for each kind. A server without a kind is one with none of it.
func (p *program) lists(ctx context.Context, c *cli.Command, server string, kinds []roof.Kind) ([]listed, error) {
	moving := p.startProgress()
	defer moving.end()
	moving.show(strings.TrimSpace(server + " " + c.Name))
	conn, err := p.join(ctx, c, server, nil)
	if err != nil {
		return nil, refused(err, server, "")
	}
	defer conn.Close()
	var lists []listed
	for _, k := range kinds {
		result, err := conn.List(ctx, k)
		switch {
		case client.Lacks(err):
			result = []byte(`{"` + k.Member() + `":[]}`)
		case err != nil:
			return nil, refused(err, server, "")
		}
		lists = append(lists, listed{k, result})
	}
	return lists, nil
}

// offers prints the table, and of a single match what it takes.
func (p *program) offers(ctx context.Context, c *cli.Command, lists []listed, server string, search []string) error {
	var all, found []offer
	for _, l := range lists {
		all = append(all, l.offers()...)
	}
	for _, o := range all {
		if o.matches(search) {
			found = append(found, o)
		}
	}
	switch {
	case len(all) == 0:
		return p.nothing(ctx, c, server)
	case len(found) == 0:
		p.err().line("mcpx: none of %s has %q in name or description", plural(len(all), "entry", "entries"), strings.Join(search, " "))
		p.err().hint("all of them: " + strings.TrimSpace("mcpx "+c.Name+" "+server))
		return nil
	}
	out := p.out()
	t := offerTable(lists[0].kind, found, server == "")
	if out.tty {
		t.fit = columns(p.stdout)
	}
	out.table(t)
	if len(search) > 0 && len(found) == 1 {
		return out.details(found[0])
	}
	return nil
}

// nothing says why a list is empty, which a host is not told: a server that is
// not for this session has none to it.
func (p *program) nothing(ctx context.Context, c *cli.Command, server string) error {
	v, err := p.view(ctx, c)
	if err != nil {
		return err
	}
	if server == "" {
		switch {
		case len(v.cfg.Names) == 0 && v.cfg.Problems.HasErrors():
			p.err().configProblems(v.cfg.Problems)
			return exitCode(1)
		case len(v.cfg.Names) == 0:
			return noServers(v.dirs)
		}
		p.err().line("mcpx: no server here offers %s", c.Name)
		return nil
	}
	s, err := v.server(server)
	switch {
	case err != nil:
		return err
	case s.Disabled:
		return &failure{msg: server + ": it is disabled", hint: "see where: mcpx explain " + server}
	}
	p.err().line("mcpx: %s offers no %s", server, c.Name)
	return nil
}

// troubles are why a list under one roof is not whole, once each.
func troubles(lists []listed, server string) []string {
	if server != "" {
		return nil // its own _meta is its own
	}
	var all []string
	for _, l := range lists {
		for _, part := range roof.PartsOf(l.result) {
			why := strings.TrimPrefix(part.Trouble, fmt.Sprintf("server %q: ", part.Server))
			if line := part.Server + ": " + why; why != "" && !slices.Contains(all, line) {
				all = append(all, line)
			}
		}
	}
	return all
}
