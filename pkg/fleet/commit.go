package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/render"
)

// ReadRev reads the folder as it is in a commit, whatever lies on the disk. rev
// is a branch, a tag or a hash, with parents named behind it: HEAD~2.
func ReadRev(dir, rev string) (Tree, error) {
	r, below, err := open(dir)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return Tree{}, &Error{dir + ": not in a git repository", "without --rev the folder is read as it is"}
	}
	if err != nil {
		return Tree{}, fmt.Errorf("%s: %w", dir, err)
	}
	if !evaluated().MatchString(rev) {
		return Tree{}, &Error{fmt.Sprintf("%q: a revision of this form is not evaluated here", rev), "name a branch, a tag or a hash, with ~N, ^ or ^2 behind it; git rev-parse makes a hash of all others"}
	}
	hash, err := r.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		return Tree{}, &Error{fmt.Sprintf("%s: no commit %q in its repository", dir, rev), "a branch, a tag, HEAD~2 or a hash; what is not here yet: git fetch"}
	}
	files, err := inCommit(r, *hash, below)
	if err != nil {
		return Tree{}, fmt.Errorf("%s at %s: %w", dir, rev, err)
	}
	return Tree{Files: files, Commit: hash.String()}, nil
}

// evaluated are the forms that go-git resolves as git does: it parses the others
// and passes over them, as if HEAD@{1} were HEAD.
var evaluated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^~^:{}]+(~[0-9]*|\^[012]?)*$`)
})

// compare finds the last commit and whether the folder differs from it. Without
// a repository, or a commit in it, there is nothing to say.
func (t *Tree) compare(dir string) {
	r, below, err := open(dir)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return
	}
	if err != nil {
		t.Doubt = err
		return
	}
	head, err := r.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return
	}
	var committed map[string][]byte
	if err == nil {
		committed, err = inCommit(r, head.Hash(), below)
	}
	if err != nil && !errors.Is(err, object.ErrDirectoryNotFound) {
		t.Doubt = err
		return
	}
	t.Commit = head.Hash().String()
	t.Dirty = !maps.EqualFunc(t.Files, committed, bytes.Equal)
}

// open finds the repository around dir, and where dir is in it.
func open(dir string) (r *git.Repository, below string, err error) {
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = canon.Deepest(dir) // a commit may have what the disk has no more
	}
	if err != nil {
		return nil, "", err
	}
	r, err = git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return nil, "", err
	}
	w, err := r.Worktree()
	if err != nil {
		return nil, "", err
	}
	top, err := canon.Path(w.Filesystem.Root())
	if err != nil {
		return nil, "", err
	}
	below, err = filepath.Rel(top, dir)
	return r, filepath.ToSlash(below), err
}

// inCommit are the files of the folder in a commit.
func inCommit(r *git.Repository, hash plumbing.Hash, below string) (map[string][]byte, error) {
	commit, err := r.CommitObject(hash)
	if err != nil {
		return nil, err
	}
	tree, err := commit.Tree()
	if err == nil && below != "." {
		tree, err = tree.Tree(below)
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range committed(tree) {
		data, err := blob(tree, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = data
	}
	return files, nil
}

// committed are the names in a tree that a fleet folder may have.
func committed(tree *object.Tree) []string {
	var names []string
	for _, e := range tree.Entries {
		if e.Name == render.SharedName || e.Name == render.RulesName {
			names = append(names, e.Name)
		}
	}
	machines, err := tree.Tree(render.MachineDir)
	if err != nil {
		return names
	}
	for _, e := range machines.Entries {
		if isMachine(e.Name) {
			names = append(names, path.Join(render.MachineDir, e.Name))
		}
	}
	return names
}

func blob(tree *object.Tree, name string) ([]byte, error) {
	e, err := tree.FindEntry(name)
	if err != nil {
		return nil, err
	}
	if e.Mode == filemode.Symlink {
		return nil, &Error{"is a link, which is not followed in a commit", "commit the file itself"}
	}
	f, err := tree.File(name)
	if err != nil {
		return nil, err
	}
	if f.Size > maxFile {
		return nil, &Error{fmt.Sprintf("larger than %d MiB", maxFile>>20), "is it a file of the fleet?"}
	}
	text, err := f.Contents()
	return []byte(text), err
}
