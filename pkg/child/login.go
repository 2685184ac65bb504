package child

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// LoginOptions describe the user whose login is imitated.
type LoginOptions struct {
	Account Account
	Home    string       // HOME; "" means the account's
	Env     []string     // this process's environment, of which little is used
	Path    []string     // daemon.path; when it is set no shell is asked
	Log     *slog.Logger // nil means no log
}

// pathDirs come after the PATH that was found, those that exist (design D15):
// where people's tools are on systems whose service manager knows /usr/bin only.
var pathDirs = []string{
	"/usr/local/bin", "/usr/local/go/bin", "/opt/homebrew/bin",
	"~/.local/bin", "~/go/bin", "~/.cargo/bin", "~/.bun/bin", "~/.nix-profile/bin",
	"/nix/var/nix/profiles/default/bin", "/run/current-system/sw/bin",
	"/usr/bin", "/bin",
}

// Login finds the base environment for the children of an autostarted daemon.
// Its Environ is an Options.Base.
type Login struct {
	wg    sync.WaitGroup
	found chan struct{} // closed when env is set
	env   []string
}

// StartLogin begins to find it, beside whatever else the daemon's start does;
// only a child's start need wait. When ctx ends, a shell in progress is ended.
func StartLogin(ctx context.Context, o LoginOptions) *Login {
	l := &Login{found: make(chan struct{})}
	l.wg.Go(func() {
		defer close(l.found)
		l.env = LoginBase(ctx, o)
	})
	return l
}

// Environ waits for the base environment.
func (l *Login) Environ(ctx context.Context) ([]string, error) {
	select {
	case <-l.found:
		return slices.Clone(l.env), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Wait returns when no process of the login is left.
func (l *Login) Wait() { l.wg.Wait() }

// LoginBase is an environment like that of a fresh login, so that a child's does
// not depend on which host came first (design D15). It takes up to 5 s when the
// shell hangs. A shell that tells no PATH costs only that PATH, with a warning.
func LoginBase(ctx context.Context, o LoginOptions) []string {
	base := personal(o)
	path := o.Path
	if len(path) == 0 {
		began := time.Now()
		var err error
		if path, err = shellPath(ctx, o.Account.Shell, base); err != nil && o.Log != nil {
			o.Log.Warn("login shell told no PATH", "err", err, "took", time.Since(began))
		}
	}
	return append(base, "PATH="+strings.Join(withExisting(path, Value(base, "HOME")), ":"))
}

// personal is the environment without PATH.
func personal(o LoginOptions) []string {
	home := o.Home
	if home == "" {
		home = o.Account.Home
	}
	env := []string{"HOME=" + home, "USER=" + o.Account.Name, "LOGNAME=" + o.Account.Name}
	if o.Account.Shell != "" {
		env = append(env, "SHELL="+o.Account.Shell)
	}
	for _, entry := range o.Env {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == "LANG", name == "TERM", name == "TMPDIR", strings.HasPrefix(name, "LC_"):
			env = append(env, entry)
		}
	}
	return env
}

// withExisting is path without what is not absolute or comes twice, and after it
// the pathDirs that exist.
func withExisting(path []string, home string) []string {
	var all []string
	add := func(dir string) {
		if filepath.IsAbs(dir) && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	for _, dir := range path {
		add(dir)
	}
	for _, dir := range pathDirs {
		if rest, ok := strings.CutPrefix(dir, "~"); ok {
			dir = home + rest
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			add(dir)
		}
	}
	return all
}
