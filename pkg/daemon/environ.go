package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
)

// marker is the part of MCPX_INSTANCE that all children of this daemon share
// (design D16): whose runtime directory, and which daemon on it.
func marker(runtimeDir, epoch string) string {
	sum := sha256.Sum256([]byte(runtimeDir))
	return hex.EncodeToString(sum[:4]) + "." + epoch
}

// withDaemonBlock lays the daemon block's path and env over a base. Pure.
func withDaemonBlock(base []string, block config.Daemon) []string {
	env := slices.Clone(base)
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		env = append(env, name+"="+value)
	}
	if len(block.Path) > 0 {
		set("PATH", strings.Join(block.Path, string(os.PathListSeparator)))
	}
	for name, value := range block.Env {
		set(name, value)
	}
	slices.Sort(env)
	return env
}

// withoutManager leaves out what systemd said to this process and no other: a
// child that took the sockets or the notifications for its own would speak for
// the daemon. Pure.
func withoutManager(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "LISTEN_") || strings.HasPrefix(name, "WATCHDOG_") ||
			slices.Contains([]string{"NOTIFY_SOCKET", "SYSTEMD_EXEC_PID", "MAINPID", "FDSTORE", "INVOCATION_ID", "JOURNAL_STREAM"}, name)
	})
}

// searched are the directories of the PATH that children start from, nil while
// it is still being found.
func (d *Daemon) searched() []string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	env, err := d.environ(ctx)
	if err != nil {
		return nil
	}
	return filepath.SplitList(child.Value(env, "PATH"))
}

// base is the environment that every child starts from. It is a daemon's own
// when a person or a service started it, and a login-like one when a shim did:
// never that of whoever happened to come first (design D15). wait returns when
// nothing of the search for it is left.
func base(ctx context.Context, o Options, block config.Daemon) (get func(context.Context) ([]string, error), wait func(), err error) {
	if !o.Autostarted {
		env := withDaemonBlock(withoutManager(o.Environ), block)
		return func(context.Context) ([]string, error) { return env, nil }, func() {}, nil
	}
	account, err := child.CurrentAccount()
	if err != nil {
		return nil, nil, err
	}
	login := child.StartLogin(ctx, child.LoginOptions{Account: account, Home: o.Dirs.Home, Env: o.Environ, Path: block.Path, Log: o.Log})
	return func(ctx context.Context) ([]string, error) {
		env, err := login.Environ(ctx)
		return withDaemonBlock(env, config.Daemon{Env: block.Env}), err
	}, login.Wait, nil
}
