package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

// Groups of the help page, in its order.
const (
	serve  = "serve"
	use    = "use"
	look   = "look"
	change = "change"
	ship   = "fleet"
)

func helpCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "show this page, or the page of one command", ArgsUsage: "[COMMAND]", Hidden: true,
		Description: "mcpx help explain",
		Action: func(_ context.Context, c *cli.Command) error {
			if err := takes(c, 0, 1); err != nil {
				return err
			}
			if !c.Args().Present() {
				return cli.ShowRootCommandHelp(c.Root())
			}
			topic := c.Root().Command(c.Args().First())
			if topic == nil {
				return unknownCommand(c.Root(), c.Args().First())
			}
			_, err := io.WriteString(c.Root().Writer, commandHelp(topic))
			return err
		},
	}
}

// rootHelp is one line a command.
func rootHelp(root *cli.Command) string {
	var b strings.Builder
	b.WriteString("mcpx runs each MCP server once per scope and shares it between your agent sessions\n")
	for _, group := range []string{serve, use, look, change, ship} {
		fmt.Fprintf(&b, "\n%s\n", group)
		for _, c := range root.Commands {
			if c.Category == group && !c.Hidden {
				fmt.Fprintf(&b, "  %-28s %s\n", strings.TrimSpace(c.Name+" "+c.ArgsUsage), c.Usage)
			}
		}
	}
	b.WriteString("\nNew here? mcpx demo needs no configuration. More on one command: mcpx help COMMAND\n")
	return b.String()
}

// commandHelp is a command's own page. Its Description is the example.
func commandHelp(c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nusage: %s\n", c.Name, c.Usage, usageLine(c))
	for _, f := range shownFlags(c) {
		if d, ok := f.(cli.DocGenerationFlag); ok {
			fmt.Fprintf(&b, "  %-22s %s\n", flagUsage(f), d.GetUsage())
		}
	}
	if c.Description != "" {
		fmt.Fprintf(&b, "\nexample:\n")
		for line := range strings.Lines(c.Description) {
			fmt.Fprintf(&b, "  %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return b.String()
}

// usageLine names the flags while they are few.
func usageLine(c *cli.Command) string {
	words := []string{"mcpx"}
	if c.Name != "mcpx" {
		words = append(words, c.Name)
	}
	flags := shownFlags(c)
	if len(flags) > 3 {
		words = append(words, "[flags]")
	} else {
		for _, f := range flags {
			words = append(words, "["+flagUsage(f)+"]")
		}
	}
	if c.ArgsUsage != "" {
		words = append(words, c.ArgsUsage)
	}
	return strings.Join(words, " ")
}

// shownFlags leaves out the hidden ones, and --help, which all have.
func shownFlags(c *cli.Command) []cli.Flag {
	var flags []cli.Flag
	for _, f := range c.Flags {
		if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() && f.Names()[0] != "help" {
			flags = append(flags, f)
		}
	}
	return flags
}

func flagUsage(f cli.Flag) string {
	name := dashed(f.Names()[0])
	if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() {
		switch f.Names()[0] {
		case "session", "parent":
			name += " ID"
		case "config":
			name += " FILE"
		case "machine":
			name += " NAME"
		case "rev":
			name += " REV"
		case "search":
			name += " WORDS"
		case "out":
			name += " PATH"
		default:
			name += " DIR"
		}
	}
	return name
}

// template protects finished text from the library, which takes templates.
func template(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }
