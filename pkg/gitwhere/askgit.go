package gitwhere

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/proc"
)

// gitDeadline bounds one question to git.
const gitDeadline = 2 * time.Second

// askGit has git say whether it can read a repository of a layout we do not
// know, and whether that is bare. Where it lies is still our own reading. The
// repository may be hostile: nothing in it gets to name a program to run, it is
// named outright rather than found, and no GIT_ variable of ours takes part.
func askGit(ctx context.Context, gitDir string) (bare bool, err error) {
	git, err := exec.LookPath("git")
	if err != nil || !filepath.IsAbs(git) {
		return false, errors.New("there is no git to ask")
	}
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, git,
		"-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null",
		"--git-dir="+gitDir, "rev-parse", "--is-bare-repository")
	cmd.Dir = "/"
	cmd.Env = append(withoutGit(os.Environ()), "LC_ALL=C")
	cmd.WaitDelay = 100 * time.Millisecond
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := proc.Start(cmd); err != nil {
		return false, err
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return false, errors.New("git did not answer")
		}
		return false, fmt.Errorf("git says %q", firstLine(errs.String()))
	}
	return strings.TrimSpace(out.String()) == "true", nil
}

// withoutGit drops every variable that git reads for itself.
func withoutGit(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, "GIT_") {
			kept = append(kept, e)
		}
	}
	return kept
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
