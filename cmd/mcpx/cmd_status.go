package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
)

func statusCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show servers, processes and sessions",
		Category: look, Description: "mcpx status --json",
		Flags: []cli.Flag{jsonFlag(), runtimeDirFlag()},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			dirs, err := p.dirs(c)
			if err != nil {
				return err
			}
			return p.withDaemon(c, func(client *api.Client) error {
				s, err := client.Status(ctx)
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return p.out().json(s)
				}
				p.out().status(s, dirs.Home, time.Now())
				return nil
			})
		},
	}
}

// status prints the daemon, its servers, its sessions and what is wrong.
func (p printer) status(s *api.Status, home string, now time.Time) {
	p.line("%s", daemonLine(s, home, now))
	if h := s.Daemon.HTTP; h != nil {
		guard := "no token asked for"
		if h.TokenFile != "" {
			guard = "token in " + tilde(h.TokenFile, home)
		}
		p.line("%s · %s", h.URL, guard)
	}
	p.line("")
	if len(s.Servers)+len(s.Instances) == 0 {
		p.line("no server is configured yet: write them to ~/.config/mcpx/config.json, or try mcpx demo")
	} else {
		p.table(serverTable(s, home, now))
	}
	if len(s.Sessions) > 0 {
		p.line("")
		p.table(sessionTable(s.Sessions, home, now))
		p.byHand(s.Sessions)
	}
	if n := len(s.Problems); n > 0 {
		p.line("")
		p.line("%s", plural(n, "problem", "problems"))
		p.problems(s.Problems)
	}
}

func daemonLine(s *api.Status, home string, now time.Time) string {
	d := s.Daemon
	parts := []string{
		"mcpx " + d.Version, fmt.Sprintf("pid %d", d.PID), "up " + ago(now.Sub(d.StartedAt)),
		plural(len(s.Sessions), "session", "sessions"),
		fmt.Sprintf("%s, %d MiB", plural(d.Children, "process", "processes"), d.RSSBytes>>20),
	}
	for _, f := range d.Config {
		parts = append(parts, tilde(f, home))
	}
	return strings.Join(parts, " · ")
}

// serverTable has a row for each instance, and one for each server without.
func serverTable(s *api.Status, home string, now time.Time) table {
	t := table{flex: 3, right: map[int]bool{5: true, 7: true, 8: true}}
	t.add(heading("SERVER", "SCOPE", "STATE", "KEY / ROOT", "CWD FROM", "PID", "ERA", "CALLS", "IDLE")...)
	running := map[string]bool{}
	last := ""
	for _, in := range s.Instances {
		running[in.Server] = true
		name, scope := in.Server, in.Scope
		if name == last {
			name, scope = "", ""
		}
		last = in.Server
		pid := ""
		if in.PID != 0 {
			pid = fmt.Sprint(in.PID)
		}
		idle := ""
		if in.Leases == 0 && !in.LastUsed.IsZero() {
			idle = ago(now.Sub(in.LastUsed))
		}
		t.add(cell{text: name}, cell{text: scope}, stateCell(in, now), cell{text: rootOrKey(in, home)},
			cell{text: in.CwdSource}, cell{text: pid}, cell{text: in.Era},
			cell{text: thousands(in.Calls)}, cell{text: idle})
		if why := cmp.Or(in.Reason, in.LastError); why != "" {
			t.add(row("", "", why)...)
		}
		if n := len(in.NoiseLines); n > 0 {
			t.add(row("", "", fmt.Sprintf("%s on stdout, the last: %s", plural(int(in.Noise), "stray line", "stray lines"), short(in.NoiseLines[n-1], 40)))...)
		}
		if in.Excess > 0 {
			t.add(row("", "", fmt.Sprintf("%s notifications came too fast to be passed on", thousands(in.Excess)))...)
		}
	}
	for _, sv := range s.Servers {
		if running[sv.Name] {
			continue
		}
		t.add(cell{text: sv.Name}, cell{text: sv.Scope}, idleCell(sv), cell{text: "-"})
		if sv.Reason != "" {
			t.add(row("", "", sv.Reason)...)
		}
	}
	return t
}

func heading(names ...string) []cell {
	cells := row(names...)
	for i := range cells {
		cells[i].tone = dim
	}
	return cells
}

func stateCell(in api.InstanceStatus, now time.Time) cell {
	switch words := in.Words(); {
	case in.State == "connected":
		return cell{words, green}
	case words == api.SignIn:
		return cell{words, yellow}
	case in.State == "backing-off":
		if !in.RetryAt.After(now) {
			return cell{"failed, tries again", red}
		}
		return cell{api.BackingOff + " " + ago(in.RetryAt.Sub(now)), yellow} // why stands below
	case in.State == "failed":
		return cell{api.Failed, red}
	case in.State == "list-failed":
		return cell{words, red}
	}
	return cell{in.State, yellow}
}

func idleCell(s api.ServerStatus) cell {
	if s.Listed && cmp.Or(s.State, api.Idle) == api.Idle {
		return cell{api.ListKept, dim}
	}
	return cell{cmp.Or(s.State, api.Idle), dim}
}

// rootOrKey is the root, which says more than the key that holds it.
func rootOrKey(in api.InstanceStatus, home string) string {
	if in.Root != "" {
		return tilde(in.Root, home)
	}
	return in.Key
}

func sessionTable(sessions []api.SessionStatus, home string, now time.Time) table {
	t := table{flex: 2}
	t.add(heading("SESSION", "HOST", "DIRECTORY", "FROM", "SEES", "SINCE")...)
	for _, s := range sessions {
		from := s.Cwd.Origin
		if s.Cwd.Stale != "" {
			from += " (stale)"
		}
		since := ago(now.Sub(s.Since))
		if s.Override != nil {
			since += "  *"
		}
		t.add(row(short(s.ID, 20), short(cmp.Or(s.Host.Name, "-"), 16), tilde(s.Cwd.Path, home), from, sees(s.Servers), since)...)
	}
	return t
}

// short keeps the beginning of what a host or a flag may have made long.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// sees lists the servers of a session by name while they are few.
func sees(servers []api.SessionServer) string {
	var names []string
	hidden := 0
	for _, s := range servers {
		switch {
		case s.State == api.NoSuchName:
		case strings.HasPrefix(s.State, "hidden"), s.State == "disabled", s.State == "untrusted":
			hidden++
		default:
			names = append(names, s.Name)
		}
	}
	text := strings.Join(names, " ")
	switch {
	case len(names) == 0:
		text = "none"
	case len(text) > 24 && hidden == 0:
		text = fmt.Sprintf("all %d", len(names))
	case len(text) > 24:
		text = fmt.Sprint(len(names))
	}
	if hidden > 0 {
		text += fmt.Sprintf(" · %d hidden", hidden)
	}
	return text
}
