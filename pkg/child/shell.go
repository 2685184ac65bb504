package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/canon"
)

// NoAutostart is the variable that, set to 1, keeps an mcpx from starting a
// daemon: a login shell whose start-up files call mcpx would else start another
// one from within the first one's start (design D15).
const NoAutostart = "MCPX_NO_AUTOSTART"

const (
	shellTime  = 5 * time.Second
	shellBytes = 1 << 20 // of noise; then the shell is given up
)

// askPath prints PATH between marks, whatever start-up files print before. It is
// printenv's PATH because fish prints its own with spaces.
const askPath = `printf '\n<mcpx>'; /usr/bin/env printenv PATH; printf '</mcpx>'`

// muteShells run no commands for us, or not with these flags.
var muteShells = []string{"nologin", "false", "true", "sync", "csh", "tcsh", "git-shell"}

// shellPath is the PATH of an interactive login shell with environment base.
func shellPath(ctx context.Context, shell string, base []string) ([]string, error) {
	if !filepath.IsAbs(shell) || slices.Contains(muteShells, filepath.Base(shell)) {
		return nil, fmt.Errorf("shell %q cannot be asked", shell)
	}
	ctx, cancel := context.WithTimeout(ctx, shellTime)
	defer cancel()
	out, err := capture(ctx, &exec.Cmd{
		Path: shell,
		Args: []string{shell, "-i", "-l", "-c", askPath},
		Env:  append(slices.Clone(base), "PATH=/usr/local/bin:/usr/bin:/bin", NoAutostart+"=1"),
		Dir:  Value(base, "HOME"),
		// A session of its own: an interactive shell takes the terminal it finds.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, func(out []byte) bool {
		_, ok := betweenMarks(string(out))
		return ok || len(out) > shellBytes
	})
	switch path, ok := betweenMarks(string(out)); {
	case ok:
		return filepath.SplitList(path), nil
	case err != nil:
		return nil, fmt.Errorf("shell %s: %w", shell, canon.Reason(err))
	}
	return nil, fmt.Errorf("shell %s: %w", shell, errNoMark)
}

var errNoMark = errors.New("ended without an answer")

// betweenMarks is what askPath printed.
func betweenMarks(out string) (string, bool) {
	for end := 0; ; {
		next := strings.Index(out[end:], "</mcpx>")
		if next < 0 {
			return "", false
		}
		end += next
		if begin := strings.LastIndex(out[:end], "\n<mcpx>"); begin >= 0 {
			return strings.TrimSpace(out[begin+len("\n<mcpx>") : end]), true
		}
		end += len("</mcpx>")
	}
}
