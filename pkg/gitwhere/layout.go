package gitwhere

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dezren39/mcpx/pkg/canon"
)

// headLine is what a HEAD may hold: a branch, or a commit.
var headLine = regexp.MustCompile(`^(ref:\s*refs/|[0-9a-f]{40}([0-9a-f]{24})?\s*$)`)

// isGitDir reports whether d is a git directory by git's own test: a HEAD that
// makes sense, and objects and refs beside it or in its common directory. An
// error says why that cannot be seen.
func isGitDir(d string) (bool, error) {
	head, err := readHead(filepath.Join(d, "HEAD"))
	if errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if err != nil || !headLine.MatchString(head) {
		return false, nil
	}
	common, _, err := commonDir(d)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs")), nil
}

// readHead reads HEAD, which in old repositories is a link named like a branch.
func readHead(path string) (string, error) {
	if target, err := os.Readlink(path); err == nil {
		return "ref: " + target, nil
	}
	return readSmall(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// commonDir follows the commondir file of a git directory to what its linked
// worktrees share. linked is false when there is none; the answer is then d.
func commonDir(d string) (common string, linked bool, err error) {
	text, err := readSmall(filepath.Join(d, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil
	}
	if err != nil {
		return "", false, err
	}
	common, err = canon.Dir(from(d, text))
	return common, true, err
}

// pointer is the git directory that top/.git stands for; direct is true when it
// is that directory itself, with no file or link in between.
func pointer(top string) (gitDir string, direct bool, err error) {
	dot := filepath.Join(top, ".git")
	real, err := canon.Path(dot)
	if err != nil {
		return "", false, err
	}
	if isDir(real) {
		return real, real == dot, nil
	}
	text, err := readSmall(real)
	if err != nil {
		return "", false, err
	}
	target, found := strings.CutPrefix(text, "gitdir: ")
	if !found || target == "" {
		return "", false, fmt.Errorf("%s does not say where the git directory is", dot)
	}
	gitDir, err = canon.Dir(from(top, target))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("%s names %s, which is not there", dot, target)
	}
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", dot, err)
	}
	if is, err := isGitDir(gitDir); err != nil || !is {
		return "", false, errors.Join(fmt.Errorf("%s names %s, which is not a git directory", dot, target), err)
	}
	return gitDir, false, nil
}

// leadsBack reports whether top/.git stands for gitDir.
func leadsBack(top, gitDir string) bool {
	target, _, err := pointer(top)
	return err == nil && target == gitDir
}

// namesWorktree reports whether the entry of a linked worktree names top as its
// place. gone is true when it names a place where nothing is any more.
func namesWorktree(entry, top string) (names, gone bool) {
	text, err := readSmall(filepath.Join(entry, "gitdir"))
	if err != nil {
		return false, false
	}
	dot := from(entry, text)
	if filepath.Base(dot) != ".git" {
		return false, false
	}
	place, err := canon.Path(filepath.Dir(dot))
	if err != nil {
		return false, errors.Is(err, fs.ErrNotExist)
	}
	_, err = os.Lstat(filepath.Join(place, ".git"))
	return place == top, errors.Is(err, fs.ErrNotExist)
}

// from reads a path written in a file of directory d. The two are joined as
// text only: what ".." means behind a link is for the file system to say.
func from(d, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return d + "/" + path
}
