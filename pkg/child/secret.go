package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

const (
	secretBytes = 64 << 10
	secretTime  = 10 * time.Second
)

// Secrets reads what the secrets of a plan that starts no process refer to: a
// remote's headers, by name. Errors are those of Start.
func Secrets(ctx context.Context, p spawn.Plan, o Options) (map[string]string, error) {
	base, err := o.base(ctx)
	if err != nil {
		return nil, config.Problem{Server: p.Server, Field: "mcpx.secrets", Msg: err.Error()}
	}
	return readSecrets(ctx, p, base, o.Home)
}

// readSecrets reads what the plan's secrets refer to, by variable. An error
// names server and variable, never a value, nor what a command wrote (T28).
func readSecrets(ctx context.Context, p spawn.Plan, base []string, home string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		value, err := readSecret(ctx, p.Secrets[name], base, home)
		if err != nil {
			return nil, secretProblem(p, name, err)
		}
		values[name] = value
	}
	return values, nil
}

// secretProblem names the server and the field of an error about a secret.
func secretProblem(p spawn.Plan, name string, err error) error {
	return config.Problem{Server: p.Server, Field: "mcpx.secrets." + name, Msg: err.Error(), Hint: config.HintOf(err)}
}

func readSecret(ctx context.Context, s config.Secret, base []string, home string) (string, error) {
	var data []byte
	var err error
	if s.File != "" {
		data, err = secretFile(s.File, home)
	} else {
		data, err = secretCommand(ctx, s.Command, base, home)
	}
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case len(data) > secretBytes:
		return "", errors.New("longer than 64 KiB")
	case value == "":
		return "", errors.New("empty")
	case strings.ContainsRune(value, 0):
		return "", errors.New("holds a NUL byte")
	}
	return value, nil
}

// secretFile refuses a file that another user could have read or written
// (threat T37); that includes all of the Nix store. "~/" is the user's home:
// a file that several machines share can name no other (design §4).
func secretFile(name, home string) ([]byte, error) {
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(home, below)
	}
	if !filepath.IsAbs(name) {
		return nil, fmt.Errorf("file %s is not an absolute path", name)
	}
	// Non-blocking, or a fifo of that name would hold the start for ever.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, canon.Reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, canon.Reason(err))
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Mode()&0o077 != 0:
		return nil, exposedError{name, fmt.Sprintf("open to other users (mode %04o)", info.Mode().Perm())}
	case st == nil || int(st.Uid) != os.Geteuid():
		return nil, exposedError{name, "owned by another user"}
	}
	data, err := io.ReadAll(io.LimitReader(f, secretBytes+1))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, canon.Reason(err))
	}
	return data, nil
}

// exposedError says why a secret's file keeps no secret.
type exposedError struct{ name, why string }

func (e exposedError) Error() string { return "file " + e.name + " is " + e.why }

// Hint is what to do about it.
func (e exposedError) Hint() string { return "chown it to yourself, and: chmod 600 " + e.name }

// secretCommand runs argv with the base environment and returns its stdout.
func secretCommand(ctx context.Context, argv, base []string, home string) ([]byte, error) {
	if len(argv) == 0 {
		return nil, errors.New("neither file nor command is set")
	}
	program, err := lookup(argv[0], Value(base, "PATH"))
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, secretTime)
	defer cancel()
	out, err := capture(ctx, &exec.Cmd{
		Path: program, Args: argv, Env: base, Dir: home,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, func(out []byte) bool { return len(out) > secretBytes })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("command %q did not answer in time", argv[0])
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOEXEC):
		return nil, fmt.Errorf("command: %w", explainExec(program, err))
	case err != nil:
		return nil, fmt.Errorf("command %q: %w", argv[0], canon.Reason(err))
	}
	return out, nil
}
