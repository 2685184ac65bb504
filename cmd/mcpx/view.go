package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/gitwhere"
	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/place"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/source"
	"github.com/dezren39/mcpx/pkg/state"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// view is what a session that starts here would be offered, found without a
// daemon by the same steps that the daemon takes.
type view struct {
	dirs place.Dirs
	cfg  *config.Config
	cc   scope.CallContext

	rules *source.Rules
	sees  visibility.Decision
}

// loader reads the user's files. Looking makes nothing: with no state directory
// yet, nothing is trusted.
func (p *program) loader(c *cli.Command) (*source.Loader, place.Dirs, error) {
	dirs, err := p.dirs(c)
	if err != nil {
		return nil, dirs, err
	}
	var trust *state.Dir
	if _, err := os.Lstat(dirs.State); !errors.Is(err, fs.ErrNotExist) {
		if trust, err = state.Open(dirs.State); err != nil {
			return nil, dirs, err
		}
	}
	return source.New(source.Options{Dirs: dirs, State: trust}), dirs, nil
}

func (p *program) view(ctx context.Context, c *cli.Command) (*view, error) {
	v, _, err := p.viewAndLoader(ctx, c)
	return v, err
}

func (p *program) viewAndLoader(ctx context.Context, c *cli.Command) (*view, *source.Loader, error) {
	loader, dirs, err := p.loader(c)
	if err != nil {
		return nil, nil, err
	}
	cc, err := p.caller(c)
	if err != nil {
		return nil, nil, err
	}
	cc.Git = gitwhere.Locate(ctx, cc.Cwd, gitwhere.Options{Ceilings: gitwhere.Ceilings(p.getenv("GIT_CEILING_DIRECTORIES"))})
	v := &view{dirs: dirs, cfg: loader.View(cc.Cwd), cc: cc, rules: loader.Rules()}
	v.sees = session.Decide(v.cfg, v.rules.Table, cc.Cwd, visibility.Override{})
	return v, loader, nil
}

// caller is who asks and from where, as a session opened here would be seen.
func (p *program) caller(c *cli.Command) (scope.CallContext, error) {
	var cc scope.CallContext
	var err error
	if cc.Cwd, err = p.directory(c); err != nil {
		return cc, err
	}
	hello := api.Hello{Flags: flagsOf(c), Env: map[string]string{}}
	for _, name := range api.HelloEnv {
		hello.Env[name] = p.getenv(name)
	}
	who := session.Identify(hello, proc.Ancestors(os.Getpid(), 8))
	cc.Session, cc.Parent = who.Session, who.Parent
	cc.PID, cc.PIDStart = who.Host.PID, who.Host.Start
	cc.CallID = "new-for-each-call"
	return cc, nil
}

// directory is --cwd, else MCPX_CWD, else where we stand.
func (p *program) directory(c *cli.Command) (string, error) {
	for _, from := range []struct{ name, dir string }{{"--cwd", c.String("cwd")}, {"MCPX_CWD", p.getenv("MCPX_CWD")}} {
		if from.dir == "" {
			continue
		}
		dir, err := canon.Path(from.dir)
		if err != nil {
			return "", &failure{msg: fmt.Sprintf("%s: %s: %v", from.name, from.dir, canon.Reason(err)), hint: "name a directory that exists"}
		}
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return canon.Path(dir)
}

// serverNames are those of the view here, for completion: no error is worth a
// word while someone types.
func (p *program) serverNames() []string {
	dirs, err := place.Find(place.Options{Getenv: p.getenv})
	if err != nil {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	if dir, err = canon.Path(dir); err != nil {
		return nil
	}
	o := source.Options{Dirs: dirs}
	if trust, err := state.Open(dirs.State); err == nil {
		o.State = trust
	}
	return source.New(o).View(dir).Names
}

// server finds one by name, or says why it is not there.
func (v *view) server(name string) (*config.Resolved, error) {
	if s := v.cfg.Servers[name]; s != nil {
		return s, nil
	}
	for _, q := range v.cfg.Problems {
		if q.Server == name && !q.Warning {
			return nil, q
		}
	}
	for _, u := range v.cfg.Untrusted {
		if u.Name == name {
			return nil, &failure{
				msg:  fmt.Sprintf("%s: only %s names this server, and that file is not trusted", name, u.File),
				hint: "look at it, then: mcpx trust " + hostfile.Quote(u.File),
			}
		}
	}
	if len(v.cfg.Names) == 0 {
		return nil, noServers(v.dirs)
	}
	hint := "configured here: " + strings.Join(v.cfg.Names, " ")
	if near := config.DidYouMean(name, v.cfg.Names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return nil, &failure{msg: fmt.Sprintf("no file names a server %q", name), hint: hint}
}

// noServers says what to do first.
func noServers(dirs place.Dirs) error {
	return &failure{
		msg:  "no server is configured yet",
		hint: fmt.Sprintf(`write {"mcpServers": {"NAME": {"command": "PROGRAM"}}} to %s/config.json; mcpx demo works without`, tilde(dirs.Config, dirs.Home)),
	}
}
