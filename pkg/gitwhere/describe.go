package gitwhere

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/scope"
)

// Why there is no worktree, or what would confirm a link.
const (
	bareHere     = "bare repository: no worktree here"
	insideGitDir = "inside a git directory: no worktree here"
	repair       = "the worktree was moved: run git worktree repair in it"
)

// holding describes the repository whose .git lies in top.
func (l locator) holding(ctx context.Context, top string) (scope.Git, error) {
	dot := filepath.Join(top, ".git")
	if err := l.owned(dot); err != nil {
		return scope.Git{}, err
	}
	gitDir, direct, err := pointer(top)
	if err != nil {
		return scope.Git{}, err
	}
	common, linked, err := commonDir(gitDir)
	if err != nil {
		return scope.Git{}, err
	}
	switch {
	case direct && !linked:
		return l.plain(ctx, top, gitDir)
	case direct:
		return unconfirmed(top, ""), nil
	case linked:
		return l.linked(ctx, top, gitDir, common)
	}
	return l.pointed(ctx, top, gitDir)
}

// plain is a .git directory of its own.
func (l locator) plain(ctx context.Context, top, gitDir string) (scope.Git, error) {
	c, err := l.settings(ctx, gitDir)
	if err != nil {
		return scope.Git{}, err
	}
	g := scope.Git{CommonDir: gitDir, MainWorktree: c.mainWorktree(gitDir)}
	if c.bare {
		g.Problem = bareHere
		return g, nil
	}
	g.Worktree = top
	return g, nil
}

// linked is a linked worktree: its entry lies in the repository's worktrees and
// names this place.
func (l locator) linked(ctx context.Context, top, entry, common string) (scope.Git, error) {
	names, gone := namesWorktree(entry, top)
	if filepath.Dir(entry) != filepath.Join(common, "worktrees") || !names {
		why := ""
		if gone {
			why = repair
		}
		return unconfirmed(top, why), nil
	}
	if err := l.owned(entry, common); err != nil {
		return scope.Git{}, err
	}
	c, err := l.settings(ctx, common)
	if err != nil {
		return scope.Git{}, err
	}
	return scope.Git{CommonDir: common, Worktree: top, MainWorktree: c.mainWorktree(common)}, nil
}

// pointed is a git directory elsewhere that says nothing of linked worktrees: a
// submodule's names this place as its worktree, a bare one that lies below this
// place is the container's own.
func (l locator) pointed(ctx context.Context, top, gitDir string) (scope.Git, error) {
	if err := l.owned(gitDir); err != nil {
		return scope.Git{}, err
	}
	c, err := l.settings(ctx, gitDir)
	if err != nil {
		return scope.Git{}, err
	}
	switch {
	case c.bare && canon.Under(gitDir, top):
		return scope.Git{CommonDir: gitDir, Problem: bareHere}, nil
	case !c.bare && c.worktree == top:
		return scope.Git{CommonDir: gitDir, Worktree: top, MainWorktree: top}, nil
	}
	return unconfirmed(top, ""), nil
}

// inside describes the git directory that the caller stands in: a bare
// repository, or the inner side of an ordinary one.
func (l locator) inside(ctx context.Context, gitDir string) (scope.Git, error) {
	common, linked, err := commonDir(gitDir)
	if err != nil {
		return scope.Git{}, err
	}
	if linked && filepath.Dir(gitDir) != filepath.Join(common, "worktrees") {
		return scope.Git{}, errors.New("link not confirmed")
	}
	if err := l.owned(gitDir, common); err != nil {
		return scope.Git{}, err
	}
	c, err := l.settings(ctx, common)
	if err != nil {
		return scope.Git{}, err
	}
	g := scope.Git{CommonDir: common, MainWorktree: c.mainWorktree(common), Problem: insideGitDir}
	if c.bare {
		g.Problem = bareHere
	}
	return g, nil
}

// unconfirmed believes nothing that the other end says, not even that it is
// bare: the pointer's own path names the repository.
func unconfirmed(top, why string) scope.Git {
	return scope.Git{CommonDir: filepath.Join(top, ".git"), Worktree: top, Unconfirmed: true, Problem: why}
}

// mainWorktree is the top level that belongs to a common directory, "" when
// there is none. core.worktree counts only when the .git there leads back.
func (c settings) mainWorktree(common string) string {
	switch {
	case c.bare:
		return ""
	case c.worktree != "" && leadsBack(c.worktree, common):
		return c.worktree
	case filepath.Base(common) == ".git":
		return filepath.Dir(common)
	}
	return ""
}
