// Package canon is the one spelling of a path: absolute, symlinks resolved,
// case as the file system has it. Keys, rules, roots and trust all use it.
package canon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dezren39/mcpx/pkg/scope"
)

// maxLinks bounds the dangling links Deepest follows by itself; the kernel's
// own limit for one path is 40.
const maxLinks = 40

// Path is the canonical spelling of an existing file or directory (design D2).
// p must be absolute: what directory this process happens to stand in never
// decides a key. Errors wrap the operating system's.
func Path(p string) (string, error) {
	if !filepath.IsAbs(p) {
		return "", fmt.Errorf("%q is not an absolute path", p)
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", err
	}
	return spelled(real), nil
}

// Dir is Path for what must be a directory.
func Dir(p string) (string, error) {
	real, err := Path(p)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", &fs.PathError{Op: "open", Path: p, Err: syscall.ENOTDIR}
	}
	return real, nil
}

// Deepest is Path for what may not exist yet: the deepest existing ancestor is
// resolved, the rest appended as it stands. A link whose target is missing is
// followed too, so that the answer is the same once the target is made (report
// D7). ".." behind a missing directory is an error: nobody knows where it leads.
func Deepest(p string) (string, error) { return deepest(p, maxLinks) }

func deepest(p string, links int) (string, error) {
	real, err := Path(p)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	parent, last := split(p)
	if last == "" {
		return "", err
	}
	if last == ".." {
		return "", fmt.Errorf("%q goes up from a directory that does not exist", p)
	}
	above, err := deepest(parent, links)
	if err != nil {
		return "", err
	}
	if last == "." {
		return above, nil
	}
	at := filepath.Join(above, last)
	target, err := os.Readlink(at)
	if err != nil {
		return at, nil
	}
	if links == 0 {
		return "", fmt.Errorf("%q: too many links", p)
	}
	if !filepath.IsAbs(target) {
		target = above + "/" + target
	}
	return deepest(target, links-1)
}

// split cuts the last element off p without cleaning it: "a/../b" means what
// the file system says, not what the text says, when a is a link.
func split(p string) (parent, last string) {
	p = strings.TrimRight(p, "/")
	i := strings.LastIndexByte(p, '/')
	return p[:i+1], p[i+1:]
}

// Under reports whether dir is root or below it, at a separator. Both canonical.
func Under(dir, root string) bool { return scope.Under(dir, root) }

// Reason is what the operating system said, without the call and the path that
// failed: who shows it names the path.
func Reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
