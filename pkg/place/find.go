package place

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// Error is a directory that cannot be decided.
type Error struct {
	Field string // the variable or option
	Msg   string
	Fix   string // what to do
}

func (e *Error) Error() string { return e.Field + ": " + e.Msg }

// Hint says what to do.
func (e *Error) Hint() string { return e.Fix }

// Find makes nothing; it only says where. HOME decides, and the account's entry
// when HOME is unset; the error is an *Error.
func Find(o Options) (Dirs, error) { return system().find(o) }

func (a account) find(o Options) (Dirs, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	home, err := a.findHome(o.Getenv("HOME"))
	if err != nil {
		return Dirs{}, err
	}
	d := Dirs{Home: home}
	for _, one := range []struct {
		dir            *string
		variable, tail string
	}{
		{&d.Config, "XDG_CONFIG_HOME", ".config"},
		{&d.State, "XDG_STATE_HOME", ".local/state"},
		{&d.Cache, "XDG_CACHE_HOME", ".cache"},
	} {
		base := filepath.Join(home, one.tail)
		if v := o.Getenv(one.variable); o.XDG && v != "" {
			if base, err = absolute(one.variable, v); err != nil {
				return Dirs{}, err
			}
		}
		*one.dir = filepath.Join(base, "mcpx")
	}
	d.Runtime, err = a.findRuntime(o, d)
	return d, err
}

// findHome is canonical where it exists: HOME through a link and the account's
// entry must not give one person two daemons.
func (a account) findHome(env string) (string, error) {
	home := env
	if home == "" {
		home = a.home
	}
	if home == "" {
		return "", &Error{"HOME", "is not set, and the account names no home directory",
			"set HOME to an absolute path"}
	}
	home, err := absolute("HOME", home)
	if err != nil {
		return "", err
	}
	return a.real(home), nil
}

// findRuntime decides by option, variable and what is on disk for this uid: the
// children of some hosts (Codex) have no XDG variables and must find the same
// daemon as everyone else.
func (a account) findRuntime(o Options, d Dirs) (string, error) {
	if o.RuntimeDir != "" {
		return absolute("--runtime-dir", o.RuntimeDir)
	}
	if v := o.Getenv("MCPX_RUNTIME_DIR"); v != "" {
		return absolute("MCPX_RUNTIME_DIR", v)
	}
	if v := o.Getenv("XDG_RUNTIME_DIR"); o.XDG && v != "" {
		base, err := absolute("XDG_RUNTIME_DIR", v)
		if err != nil {
			return "", err
		}
		return filepath.Join(base, a.runtimeName(d.Home)), nil
	}
	for _, base := range a.runtimeBases() {
		if a.private(base) {
			return filepath.Join(base, a.runtimeName(d.Home)), nil
		}
	}
	return d.State, nil
}

// runtimeName tells homes of one uid apart: a private HOME is a private daemon.
func (a account) runtimeName(home string) string {
	if a.home != "" && home == a.real(filepath.Clean(a.home)) {
		return "mcpx"
	}
	sum := sha256.Sum256([]byte(home))
	return "mcpx-" + hex.EncodeToString(sum[:4])
}

func absolute(field, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", &Error{field, fmt.Sprintf("%q is not an absolute path", dir), "write the whole path out"}
	}
	return filepath.Clean(dir), nil
}
