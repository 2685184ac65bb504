package main

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/shim"
)

func authCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "auth", Usage: "sign in at a server that is reached by url, or out", ArgsUsage: "login|logout|status [SERVER]",
		Category: change, Description: "mcpx auth login jira\nmcpx auth status\nmcpx auth logout --all",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "print", Usage: "print the address, open no browser"},
			&cli.BoolFlag{Name: "all", Usage: "sign out everywhere"},
			jsonFlag(), runtimeDirFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 1, 2); err != nil {
				return err
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			server := c.Args().Get(1)
			switch what := c.Args().First(); {
			case what == "status" && server == "":
				return p.authStatus(ctx, c, dir)
			case what == "login" && server != "":
				return p.login(ctx, c, server, dir)
			case what == "logout" && (server == "") == c.Bool("all"):
				return p.logout(ctx, c, server, dir)
			case what == "status" && server != "":
				return p.authStatus(ctx, c, dir, server)
			default:
				return misuse("usage: "+usageLine(c), "auth: %q does not go with that", what)
			}
		},
	}
}

// login has the daemon begin a sign-in, sends a browser there, and waits. The
// sign-in is the daemon's: it goes on when nobody waits.
func (p *program) login(ctx context.Context, c *cli.Command, server, dir string) error {
	dirs, err := p.dirs(c)
	if err != nil {
		return err
	}
	if err := shim.EnsureDaemon(ctx, p.shim(dirs)); err != nil {
		return err
	}
	return p.withDaemon(c, func(client *api.Client) error {
		s, err := client.Login(ctx, server, dir)
		if err != nil {
			return err
		}
		if !isWebAddress(s.URL) {
			return &failure{msg: "the address to sign in at is none that a browser may be sent to"}
		}
		p.err().line("sign in to %s (%s) at %s:", s.Server, s.Origin, s.Issuer)
		fmt.Fprintln(p.stdout, s.URL) // whole, however long: it was checked
		if isTerminal(p.stdout) && !c.Bool("print") {
			if err := openBrowser(s.URL); err != nil {
				p.err().line("open that address in a browser on this machine")
			}
		}
		p.err().line("waiting for the browser; it has 10 minutes, also when this is interrupted")
		if _, err := client.AuthWait(ctx, server, dir); err != nil {
			if ctx.Err() != nil {
				return &failure{msg: "did not wait", hint: "mcpx auth status " + server + " says how it went"}
			}
			return err
		}
		p.err().line("signed in to %s", s.Server)
		return nil
	})
}

// isWebAddress holds what may be given to a program that opens addresses: https,
// or http on this machine; nothing that is an option or that ends a line.
func isWebAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// openerWait is how long the program that opens addresses has to say that it
// cannot. Some stay for as long as the browser does.
const openerWait = 2 * time.Second

// openBrowser gives the address to the system as one argument; no shell sees it.
func openBrowser(address string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: path, Args: []string{opener, address}, Env: os.Environ()}
	if err := proc.Start(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(openerWait):
		return nil
	}
}

func (p *program) logout(ctx context.Context, c *cli.Command, server, dir string) error {
	return p.withDaemon(c, func(client *api.Client) error {
		done, err := (*api.Done)(nil), error(nil)
		if server == "" {
			done, err = client.LogoutAll(ctx)
		} else {
			done, err = client.Logout(ctx, server, dir)
		}
		if err != nil {
			return err
		}
		return p.done(done)
	})
}

func (p *program) authStatus(ctx context.Context, c *cli.Command, dir string, only ...string) error {
	return p.withDaemon(c, func(client *api.Client) error {
		all, err := client.Auth(ctx, dir)
		if err != nil {
			return err
		}
		shown := []api.AuthStatus{}
		for _, s := range all {
			if len(only) == 0 || s.Server == only[0] {
				shown = append(shown, s)
			}
		}
		switch {
		case len(only) > 0 && len(shown) == 0:
			return &failure{msg: "no server " + only[0] + " is reached by url here", hint: "mcpx auth status lists those that are"}
		case c.Bool("json"):
			return p.out().json(shown)
		case len(shown) == 0:
			p.out().line("no server here is reached by url")
			return nil
		}
		p.out().authTable(shown, time.Now())
		return nil
	})
}

func (p printer) authTable(all []api.AuthStatus, now time.Time) {
	t := table{flex: 1}
	t.add(heading("SERVER", "ADDRESS", "SIGN-IN", "AT", "TOKEN")...)
	for _, s := range all {
		state := cell{strings.ReplaceAll(s.State, "-", " "), dim}
		token := ""
		switch s.State {
		case "signed-in":
			state.tone = green
			token = "has no end"
			if !s.Expires.IsZero() {
				token = "ended"
				if left := s.Expires.Sub(now); left > 0 {
					token = "ends in " + ago(left)
				}
				if s.Renews {
					token += ", renews itself"
				}
			}
		case "pending":
			state.tone, token = yellow, "waits for the browser"
		}
		t.add(cell{text: s.Server}, cell{text: s.Origin}, state, cell{text: s.Issuer}, cell{text: token})
	}
	p.table(t)
}
