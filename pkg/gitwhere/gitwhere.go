// Package gitwhere finds the repository around a directory by reading its
// files. It runs git only for layouts it will not vouch for (design D3), and
// the daemon's environment never changes its answer.
//
// It agrees with git rev-parse except on purpose. A downloaded tree can carry a
// forged .git file, commondir or core.worktree, and git follows all three; here
// a pointer counts only when its other end leads back (threats T1, T11):
//
//   - the worktree is the directory that holds .git, whatever core.worktree says;
//   - an unconfirmed link is a repository of its own, named by the pointer's path
//     (a --separate-git-dir and a .git that is a symlink are such links, since
//     nothing at the other end points back);
//   - a repository of another user, an unreadable one and a broken .git file
//     give no facts, and never those of the repository further up;
//   - extensions that this git does not know, and that move nothing, are no
//     reason to give up.
package gitwhere

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/scope"
)

// Options are what a caller's environment may say; the zero value is what the
// daemon uses for callers that say nothing.
type Options struct {
	// Ceilings are directories that the search does not climb into, nor past:
	// the caller's GIT_CEILING_DIRECTORIES, each made canonical by whoever read
	// it. The daemon's own variable never goes here.
	Ceilings []string
}

// Locate never fails: partial facts carry a Problem, and the scope degrades.
// dir must be canonical. ctx bounds the git that is run for unknown layouts,
// which has 2 s at most; all else is a few reads of bounded size.
func Locate(ctx context.Context, dir string, o Options) scope.Git {
	l := locator{ceilings: o.Ceilings, euid: os.Geteuid(), stat: identify, vouch: askGit}
	g, err := l.locate(ctx, dir)
	if err != nil {
		g.Problem = err.Error()
	}
	return g
}

// locator is one search. Its functions stand for what a test cannot make on
// every machine: another owner, another file system, another git.
type locator struct {
	ceilings []string
	euid     int
	stat     func(fs.FileInfo) (uid int, device uint64)
	vouch    func(ctx context.Context, gitDir string) (bare bool, err error)
}

func identify(info fs.FileInfo) (uid int, device uint64) {
	st := info.Sys().(*syscall.Stat_t)
	return int(st.Uid), uint64(st.Dev)
}

// site is where the search upward ended: the directory that holds .git, or a
// git directory that the caller stands in.
type site struct {
	top    string
	inside bool // top itself is the git directory
}

// locate returns no facts and no error outside git.
func (l locator) locate(ctx context.Context, dir string) (scope.Git, error) {
	s, found, err := l.climb(dir)
	if err != nil || !found {
		return scope.Git{}, err
	}
	if s.inside {
		return l.inside(ctx, s.top)
	}
	return l.holding(ctx, s.top)
}

// climb walks up from dir as git does: not into a ceiling above dir, and not
// into another file system.
func (l locator) climb(dir string) (site, bool, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return site{}, false, err
	}
	_, home := l.stat(info)
	for d := dir; ; d = filepath.Dir(d) {
		holds, err := holdsDotGit(d)
		if err != nil || holds {
			return site{top: d}, holds, err
		}
		if is, _ := isGitDir(d); is {
			return site{top: d, inside: true}, true, nil
		}
		up := filepath.Dir(d)
		if up == d || slices.Contains(l.ceilings, up) {
			return site{}, false, nil
		}
		info, err := os.Lstat(up)
		if err != nil {
			return site{}, false, err
		}
		if _, device := l.stat(info); device != home {
			return site{}, false, nil
		}
	}
}

// holdsDotGit reports whether d is where the search ends. A directory called
// .git that is no git directory is passed over, as git does; a file is not,
// however broken it is: the caller's checkout is here, and the repository
// further up is another one.
func holdsDotGit(d string) (bool, error) {
	dot := filepath.Join(d, ".git")
	info, err := os.Stat(dot)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dot); err == nil {
			return false, fmt.Errorf("%s is a link to nothing", dot)
		}
		return false, nil
	}
	switch {
	case err != nil:
		return false, err
	case info.IsDir():
		return isGitDir(dot)
	case info.Mode().IsRegular():
		return true, nil
	}
	return false, fmt.Errorf("%s is neither a file nor a directory", dot)
}

// owned refuses what another user could have put there to be found (CVE-2022-24765,
// threat T11): each path must belong to this user or to root.
func (l locator) owned(paths ...string) error {
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if uid, _ := l.stat(info); uid != l.euid && uid != 0 {
			return fmt.Errorf("%s belongs to another user", p)
		}
	}
	return nil
}

// Ceilings reads GIT_CEILING_DIRECTORIES: a list of absolute directories, each
// made canonical, but for those after an empty entry, which git takes as they
// stand. What is relative or not there bounds nothing.
func Ceilings(list string) []string {
	var ceilings []string
	asIs := false
	for _, dir := range filepath.SplitList(list) {
		switch {
		case dir == "":
			asIs = true
			continue
		case !filepath.IsAbs(dir):
			continue
		case !asIs:
			real, err := canon.Path(dir)
			if err != nil {
				continue
			}
			dir = real
		}
		ceilings = append(ceilings, filepath.Clean(dir))
	}
	return ceilings
}
