// Command mcpx runs each MCP server once per scope, in the right directory, and
// shares it between every agent session of its user. This package only turns
// flags into plain values and answers into text; the work is done in pkg.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/place"
)

// program is all that a command may touch of the world around it.
type program struct {
	stdin, stdout, stderr *os.File
	environ               []string
	getenv                func(string) string
	argv0                 string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second ctrl-C does what ctrl-C does
	os.Exit(run(ctx, os.Args, &program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		environ: os.Environ(), getenv: os.Getenv, argv0: os.Args[0],
	}))
}

// endings are the signals that end us, but those we were told to ignore (nohup).
func endings() []os.Signal {
	return slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
}

// run is the program without its process: it returns the exit code (0 done,
// 1 failed or problems found, 2 misuse).
func run(ctx context.Context, args []string, p *program) int {
	root := newRoot
	if len(args) > 1 && args[1] == "connect" {
		root = connectRoot
	}
	return p.report(root(p).Run(ctx, args))
}

// newRoot is the tree of commands, in the order in which help shows them.
func newRoot(p *program) *cli.Command {
	return rootOf(p,
		connectCommand(p), daemonCommand(p), demoCommand(p), demoServerCommand(p), managementServerCommand(p),
		toolsCommand(p), promptsCommand(p), resourcesCommand(p), callCommand(p),
		statusCommand(p), statuslineCommand(p), explainCommand(p), configCommand(p), checkCommand(p), doctorCommand(p), logsCommand(p), versionCommand(p),
		rulesCommand(p), sessionsCommand(p), rootsCommand(p), uiCommand(p), trustCommand(p), untrustCommand(p), authCommand(p), restartCommand(p), stopCommand(p), reloadCommand(p),
		renderCommand(p), importCommand(p),
		completionCommand(p), completeCommand(p), helpCommand(p))
}

// connectRoot is what of the tree a connect needs: one sleeps beside every host,
// and what it has built it keeps.
func connectRoot(p *program) *cli.Command { return rootOf(p, connectCommand(p)) }

func rootOf(p *program, commands ...*cli.Command) *cli.Command {
	root := &cli.Command{
		Name:   "mcpx",
		Reader: p.stdin, Writer: p.stdout, ErrWriter: p.stderr,
		HideHelpCommand: true, // it would take the name of a server: mcpx explain help
		HideVersion:     true,
		// The library would exit the process by itself.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		// A path with a comma in it is one path.
		DisableSliceFlagSeparator: true,
		Commands:                  commands,
	}
	root.Action = func(_ context.Context, c *cli.Command) error {
		if c.Args().Present() {
			return unknownCommand(c.Root(), c.Args().First())
		}
		return cli.ShowRootCommandHelp(c)
	}
	root.CustomRootCommandHelpTemplate = template(rootHelp(root))
	root.OnUsageError = flagMisuse
	for _, c := range root.Commands {
		c.OnUsageError = flagMisuse
		c.CustomHelpTemplate = template(commandHelp(c))
	}
	return root
}

// dirs finds the user's directories the way every host's child finds them
// (design D12): XDG variables do not count.
func (p *program) dirs(c *cli.Command) (place.Dirs, error) {
	return place.Find(place.Options{Getenv: p.getenv, RuntimeDir: c.String("runtime-dir")})
}

func runtimeDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "runtime-dir", Usage: "where the daemon's sockets are (MCPX_RUNTIME_DIR)"}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}
