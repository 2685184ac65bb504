package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/fleet"
	"github.com/dezren39/mcpx/pkg/render"
)

func renderCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "render", Usage: "make what a machine and its hosts read, from a fleet folder",
		Category: ship, Description: "mcpx render --machine laptop --out ~/.local/share/mcpx-fleet\nmcpx render --machine laptop --rev v1.2 --out out --check",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "machine", Usage: "the machine, one of fleet/machines/*.json"},
			&cli.StringFlag{Name: "fleet", Value: "fleet", Usage: "the fleet folder (fleet)"},
			&cli.StringFlag{Name: "rev", Usage: "read the folder from this commit"},
			&cli.StringFlag{Name: "out", Usage: "the directory to write (else mcpx's config is printed)"},
			&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 1 and show what differs unless --out is current"},
			&cli.BoolFlag{Name: "diff", Usage: "write nothing; show what would change in --out"},
		},
		Action: func(_ context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			out, check, show := c.String("out"), c.Bool("check"), c.Bool("diff")
			switch {
			case c.String("machine") == "":
				return misuse("name one of fleet/machines/*.json: mcpx render --machine NAME", "render: --machine is missing")
			case out == "" && (check || show):
				return misuse("name the directory: --out DIR", "render: nothing to compare with")
			}
			files, err := p.rendered(c)
			switch {
			case err != nil:
				return err
			case out == "":
				return p.printed(string(files["mcpx/config.json"]))
			case check || show:
				return p.compared(out, files, check)
			}
			return p.written(out, files)
		},
	}
}

// rendered reads the folder and makes the files, and prints what is wrong.
func (p *program) rendered(c *cli.Command) (map[string][]byte, error) {
	dir, rev := filepath.Clean(c.String("fleet")), c.String("rev")
	var tree fleet.Tree
	var err error
	if rev != "" {
		tree, err = fleet.ReadRev(dir, rev)
	} else {
		tree, err = fleet.Read(dir)
	}
	if err != nil {
		return nil, err
	}
	if tree.Doubt != nil {
		p.err().line("mcpx: %s: the manifest names no commit: %v", dir, tree.Doubt)
	}
	files, problems := render.Render(render.Input{
		Files: tree.Files, Dir: filepath.ToSlash(dir), Machine: c.String("machine"), Commit: tree.Commit, Dirty: tree.Dirty,
	})
	p.err().configProblems(problems)
	if files == nil {
		p.err().line("%s: %s is not rendered", counted(problems), c.String("machine"))
		return nil, exitCode(1)
	}
	return files, nil
}

// printed prints JSON as it is, but for a terminal, where nothing may be raw.
func (p *program) printed(text string) error {
	if isTerminal(p.stdout) {
		text = escapeJSON(text)
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// counted is "2 problems in 1 file".
func counted(problems config.Problems) string {
	files := map[string]bool{}
	for _, q := range problems {
		files[q.File] = true
	}
	return plural(len(problems), "problem", "problems") + " in " + plural(len(files), "file", "files")
}

// compared shows what differs; with check, a difference is a failure.
func (p *program) compared(out string, files map[string][]byte, check bool) error {
	changes, err := fleet.Compare(out, files)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if _, err := p.out().Write(c.Diff(filepath.ToSlash(out))); err != nil {
			return err
		}
	}
	switch {
	case len(changes) == 0:
		p.out().line("%s is current: %s", out, plural(len(files), "file", "files"))
		return nil
	case check:
		return &failure{
			msg:  fmt.Sprintf("%s is not current: %s", out, plural(len(changes), "file differs", "files differ")),
			hint: "the same command without --check writes it",
		}
	}
	return nil
}

func (p *program) written(out string, files map[string][]byte) error {
	changes, err := fleet.Write(out, files)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, c := range changes {
		verb := "wrote"
		if c.New == nil {
			verb = "removed"
		}
		fmt.Fprintf(&lines, "%s %s\n", verb, filepath.Join(out, c.Name))
	}
	if len(changes) == 0 {
		fmt.Fprintf(&lines, "%s is current: %s\n", out, plural(len(files), "file", "files"))
	}
	_, err = io.WriteString(p.out(), lines.String())
	return err
}
