package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// The scripts ask the program itself, so they never go out of date. Words are
// handed over as arguments and never evaluated. zsh runs the one that lies in its
// $fpath as the function itself, on the first TAB, and sources any other.
func completionScript(shell string) string {
	switch shell {
	case "bash":
		return `_mcpx() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(mcpx complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mcpx mcpx
`
	case "zsh":
		return `#compdef mcpx
_mcpx() {
  local -a words_here
  words_here=("${(@f)$(mcpx complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a words_here
}
if [[ $funcstack[1] == _mcpx ]]; then _mcpx; else compdef _mcpx mcpx; fi
`
	case "fish":
		return `complete -c mcpx -f -a '(mcpx complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`
	}
	return ""
}

func completionCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script for bash, zsh or fish", ArgsUsage: "SHELL",
		Category: change, Description: "mcpx completion bash > ~/.local/share/bash-completion/completions/mcpx",
		Action: func(_ context.Context, c *cli.Command) error {
			if err := takes(c, 1, 1); err != nil {
				return err
			}
			script := completionScript(c.Args().First())
			if script == "" {
				return misuse("one of bash, fish, zsh", "completion: unknown shell %q", c.Args().First())
			}
			_, err := io.WriteString(p.stdout, script)
			return err
		},
	}
}

// completeCommand answers the scripts: one candidate a line.
func completeCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "complete", Usage: "answer a completion script", ArgsUsage: "WORD...", Hidden: true,
		SkipFlagParsing: true,
		Action: func(_ context.Context, c *cli.Command) error {
			words := c.Args().Slice()
			for _, w := range candidates(c.Root(), words, p.serverNames) {
				if len(words) == 0 || strings.HasPrefix(w, words[len(words)-1]) {
					fmt.Fprintln(p.stdout, w)
				}
			}
			return nil
		},
	}
}

// candidates are the words that may stand where the last of words stands.
func candidates(root *cli.Command, words []string, servers func() []string) []string {
	if len(words) < 2 {
		return commandNames(root)
	}
	c := root.Command(words[0])
	if c == nil {
		return nil
	}
	last := words[len(words)-1]
	switch {
	case strings.HasPrefix(last, "-"):
		var flags []string
		for _, f := range shownFlags(c) {
			flags = append(flags, dashed(f.Names()[0]))
		}
		return flags
	case c.Name == "help":
		return commandNames(root)
	case c.Name == "completion":
		return []string{"bash", "fish", "zsh"}
	case len(words) == 2 && verbs[c.Name] != nil:
		return verbs[c.Name]
	case c.Name == "sessions" && slices.Contains([]string{"allow", "deny", "only"}, words[1]):
		return servers()
	case c.Name == "rules" && words[1] == "set" && len(words) > 3:
		return append([]string{"all", "none"}, servers()...)
	case c.Name == "auth" && len(words) == 3:
		return servers()
	case slices.Contains([]string{"connect", "explain", "restart", "logs", "tools", "prompts", "resources", "call"}, c.Name) && len(words) == 2:
		return servers()
	}
	return nil
}

// verbs are what the first word after a command may be.
var verbs = map[string][]string{
	"auth":     {"login", "logout", "status"},
	"rules":    {"list", "set", "unset", "test"},
	"sessions": {"list", "allow", "deny", "only", "none", "all", "reset"},
	"roots":    {"list", "add", "remove", "set", "reset"},
}

func commandNames(root *cli.Command) []string {
	var names []string
	for _, c := range root.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}
