package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"
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
		if near := nearest(flag, commandNames(c)); near != "" {
			return fmt.Sprintf("did you mean mcpx %s?", near)
		}
		return "all commands: mcpx help"
	}
	var names []string
	for _, f := range c.Flags {
		names = append(names, f.Names()...)
	}
	if near := nearest(flag, names); near != "" {
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
	if near := nearest(name, commandNames(root)); near != "" {
		hint = fmt.Sprintf("did you mean mcpx %s?", near)
	}
	return misuse(hint, "unknown command %q", name)
}

// nearest is the candidate that one or two slips of the finger turn into word,
// "" when there is none.
func nearest(word string, candidates []string) string {
	best, near := min(2, len(word)/2)+1, ""
	for _, c := range candidates {
		if d := distance(word, c); d < best {
			best, near = d, c
		}
	}
	return near
}

// distance is the number of letters to add, drop, change or swap with the next.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
