package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/config"
)

// misuse is an error of the command line: exit code 2.
func misuse(hint, format string, args ...any) error {
	return &failure{msg: fmt.Sprintf(format, args...), hint: hint, code: 2}
}

// takes checks the number of arguments; most < 0 is any number.
func takes(c *cli.Command, least, most int) error {
	n := c.Args().Len()
	usage := "usage: " + usageLine(c)
	switch {
	case n < least:
		return misuse(usage, "%s: an argument is missing", c.Name)
	case most >= 0 && n > most:
		return misuse(usage, "%s: unexpected argument %q", c.Name, c.Args().Get(most))
	}
	return nil
}

// flagMisuse turns what the library says about flags into the program's voice.
func flagMisuse(_ context.Context, c *cli.Command, err error, _ bool) error {
	where := ""
	if c != c.Root() {
		where = c.Name + ": "
	}
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return misuse(meant(c, name), "%sunknown flag %s", where, dashed(name))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		return misuse("usage: "+usageLine(c), "%s%s needs a value", where, dashed(strings.TrimLeft(name, "-")))
	}
	return misuse("usage: "+usageLine(c), "%s%s", where, text)
}

func meant(c *cli.Command, flag string) string {
	if c == c.Root() {
		if near := config.DidYouMean(flag, commandNames(c)); near != "" {
			return fmt.Sprintf("did you mean mcpx %s?", near)
		}
		return "all commands: mcpx help"
	}
	var names []string
	for _, f := range c.Flags {
		names = append(names, f.Names()...)
	}
	if near := config.DidYouMean(flag, names); near != "" {
		return "did you mean " + dashed(near) + "?"
	}
	return "usage: " + usageLine(c)
}

func dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

func unknownCommand(root *cli.Command, name string) error {
	hint := "all commands: mcpx help"
	if near := config.DidYouMean(name, commandNames(root)); near != "" {
		hint = fmt.Sprintf("did you mean mcpx %s?", near)
	}
	return misuse(hint, "unknown command %q", name)
}
