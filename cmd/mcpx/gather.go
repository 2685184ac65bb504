package main

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/socket"
)

// gather looks at everything doctor judges by. It changes nothing and starts no
// daemon; without one it asks the account's shell for the PATH that one would
// find.
func (p *program) gather(ctx context.Context, c *cli.Command) (facts, error) {
	v, loader, err := p.viewAndLoader(ctx, c)
	if err != nil {
		return facts{}, err
	}
	ver, _ := build()
	f := facts{version: ver, home: v.dirs.Home, runtime: v.dirs.Runtime, files: v.cfg.Files, projects: loader.Projects(v.cc.Cwd)}
	p.gatherDaemon(ctx, &f)
	if h := v.cfg.Daemon.HTTP; h != nil && f.daemon == nil {
		f.taken = heldByAnother(h.Listen)
	}
	f.problems = api.Problems(v.cfg.Problems)
	base := p.childBase(ctx, v, f.daemon)
	if f.daemon != nil {
		f.problems = together(f.problems, f.daemon.Problems)
		f.other = len(f.daemon.Daemon.Config) > 0 && !slices.ContainsFunc(f.daemon.Daemon.Config, v.reads)
	}
	for _, name := range v.cfg.Names {
		if s := v.cfg.Servers[name]; s != nil {
			f.servers = append(f.servers, p.gatherServer(v, s, base))
		}
	}
	f.autostart, f.autostartKept, f.autostartError = p.shim(v.dirs).Program()
	if f.git, err = exec.LookPath("git"); err != nil {
		f.git = ""
	}
	f.ignored = p.ignored(c, v.dirs)
	f.bypass = bypasses(v)
	return f, nil
}

// heldByAnother is the address when another process listens there: hosts would
// send it their token.
func heldByAnother(addr string) string {
	l, err := net.Listen("tcp", strings.Replace(addr, "localhost:", "127.0.0.1:", 1))
	switch {
	case err == nil:
		_ = l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return addr
	}
	return ""
}

// gatherDaemon asks the one that runs.
func (p *program) gatherDaemon(ctx context.Context, f *facts) {
	rt, err := socket.OpenRuntime(f.runtime, false)
	switch {
	case errors.Is(err, socket.ErrNoDaemon):
		f.absent = true
		return
	case err != nil:
		f.sockets = err
		return
	}
	for _, name := range []string{socket.Attach, socket.Control} {
		if err := rt.Look(name); err != nil && !errors.Is(err, socket.ErrNoDaemon) {
			f.sockets = err
		}
	}
	rt.Close()
	if f.daemon, err = daemonStatus(ctx, f.runtime); !errors.Is(err, socket.ErrNoDaemon) {
		f.asked = err
	}
}

// childBase is the environment that children start from, as far as it says where
// programs are looked up.
func (p *program) childBase(ctx context.Context, v *view, daemon *api.Status) []string {
	if daemon != nil && len(daemon.Daemon.Path) > 0 {
		return []string{"PATH=" + strings.Join(daemon.Daemon.Path, string(filepath.ListSeparator))}
	}
	account, err := child.CurrentAccount()
	if err != nil {
		return nil
	}
	return child.LoginBase(ctx, child.LoginOptions{Account: account, Home: v.dirs.Home, Env: p.environ, Path: v.cfg.Daemon.Path})
}

// gatherServer takes the steps of a start up to the program.
func (p *program) gatherServer(v *view, s *config.Resolved, base []string) serverFacts {
	f := serverFacts{name: s.Name}
	e := v.explain(s)
	switch {
	case s.Disabled:
		f.aside = "disabled"
		return f
	case e.err != nil:
		f.planned = e.err
		return f
	case e.plan.URL != "":
		f.aside, f.broken = remotely+e.Command, child.CheckSecrets(e.plan, base, v.dirs.Home)
		return f
	}
	f.program, f.broken = child.Check(e.plan, base, v.dirs.Home)
	if q, _ := f.broken.(config.Problem); q.Field == "command" && f.program == "" {
		f.elsewhere, _ = child.Find(e.plan.Command, p.getenv("PATH"))
	}
	return f
}

// ignored are the XDG variables that would lead a daemon started by hand
// elsewhere than every connect.
func (p *program) ignored(c *cli.Command, dirs place.Dirs) []string {
	var names []string
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"} {
		if p.getenv(name) == "" {
			continue
		}
		only := func(n string) string {
			if strings.HasPrefix(n, "XDG_") && n != name {
				return ""
			}
			return p.getenv(n)
		}
		with, err := place.Find(place.Options{Getenv: only, RuntimeDir: c.String("runtime-dir"), XDG: true})
		if err != nil || with != dirs {
			names = append(names, name)
		}
	}
	return names
}

// together are a's problems and those of b that a does not have.
func together(a, b []api.Problem) []api.Problem {
	all := slices.Clone(a)
	for _, p := range b {
		if !slices.ContainsFunc(a, func(q api.Problem) bool { return q.Where == p.Where && q.Message == p.Message }) {
			all = append(all, p)
		}
	}
	return all
}
