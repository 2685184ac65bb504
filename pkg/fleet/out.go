package fleet

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/dezren39/mcpx/pkg/render"
)

// Change is one file that differs between a directory and what would be written
// there: Old is nil for a new one, New for one that goes.
type Change struct {
	Name     string
	Old, New []byte
}

// Diff shows the change line by line, as diff -u does; dir is put before names.
func (c Change) Diff(dir string) []byte {
	before, after := path.Join(dir, c.Name), path.Join(dir, c.Name)
	if c.Old == nil {
		before = "/dev/null"
	}
	if c.New == nil {
		after = "/dev/null"
	}
	return diff.Diff(before, c.Old, after, c.New)
}

// Compare says what Write would change, and writes nothing. That the commit
// moved on while the files stayed as they are is no change.
func Compare(dir string, files map[string][]byte) ([]Change, error) {
	root, err := openRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return additions(files), nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	unlock, _, err := lock(root, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer unlock()
	changes, _, err := plan(root, dir, files)
	if len(changes) == 1 && changes[0].Name == render.ManifestName && changes[0].Old != nil {
		return nil, err
	}
	return changes, err
}

// Write makes dir hold the files, which include the manifest. Only files that
// the manifest in dir names are replaced, each at once, and those that are not
// wanted any more are removed; another file in the way is an *Error, and nothing
// is written then. What is current is not touched. Writers of one directory wait
// for each other, and what one that was killed left half written is removed.
func Write(dir string, files map[string][]byte) ([]Change, error) {
	root, err := openRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		root, err = openRoot(dir)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	unlock, alone, err := lock(root, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// What lies there is judged under the lock, or the files of a writer that is
	// not done yet would be in the way.
	changes, owned, err := plan(root, dir, files)
	if err != nil {
		return nil, err
	}
	if alone {
		err = sweep(root, files, owned.Files)
	}
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	// A manifest of the old and the new files comes first: whenever this ends,
	// what lies there is known to be ours.
	if len(changes) > 1 || changes[0].Name != render.ManifestName {
		if err := replace(root, render.ManifestName, union(owned, files)); err != nil {
			return nil, err
		}
	}
	for _, c := range changes {
		switch {
		case c.Name == render.ManifestName:
		case c.New == nil:
			err = remove(root, c.Name)
		default:
			err = replace(root, c.Name, c.New)
		}
		if err != nil {
			return nil, err
		}
	}
	return changes, replace(root, render.ManifestName, files[render.ManifestName])
}

func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{dir + ": not a directory", "name another with --out"}
	}
	return root, err
}

// plan finds what differs, sorted by name, and which files of dir are ours.
func plan(root *os.Root, dir string, files map[string][]byte) ([]Change, render.Manifest, error) {
	owned, err := manifest(root, dir)
	if err != nil {
		return nil, owned, err
	}
	names := maps.Clone(files)
	for name := range owned.Files {
		if _, wanted := names[name]; !wanted {
			names[name] = nil
		}
	}
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, ours := owned.Files[name]
		old, err := current(root, dir, name, ours || name == render.ManifestName)
		if err != nil {
			return nil, owned, err
		}
		if wanted := names[name]; (old == nil) != (wanted == nil) || !bytes.Equal(old, wanted) {
			changes = append(changes, Change{name, old, wanted})
		}
	}
	return changes, owned, nil
}

func additions(files map[string][]byte) []Change {
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, Change{Name: name, New: files[name]})
	}
	return all
}

// manifest is what dir says of itself. Names that lead out of it are not ours to
// follow.
func manifest(root *os.Root, dir string) (render.Manifest, error) {
	data, err := root.ReadFile(render.ManifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return render.Manifest{}, nil
	}
	m, ok := render.ParseManifest(data)
	for name := range m.Files {
		ok = ok && filepath.IsLocal(name) && name == path.Clean(name)
	}
	if err != nil || !ok {
		return render.Manifest{}, foreign(dir, render.ManifestName)
	}
	return m, nil
}

// current is the content of a file, nil when there is none. What is not ours is
// in the way, and a link or a directory never is.
func current(root *os.Root, dir, name string, ours bool) ([]byte, error) {
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		info, err := root.Lstat(parent)
		if err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
			return nil, foreign(dir, parent)
		}
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !ours || !info.Mode().IsRegular() {
		return nil, foreign(dir, name)
	}
	return root.ReadFile(name)
}

func foreign(dir, name string) error {
	return &Error{
		filepath.Join(dir, name) + ": in the way, and not written by mcpx render",
		"move it away, or name another directory with --out",
	}
}

// union is a manifest of all files that are ours before, and will be after.
func union(owned render.Manifest, files map[string][]byte) []byte {
	m, _ := render.ParseManifest(files[render.ManifestName])
	for name, sum := range owned.Files {
		if _, there := m.Files[name]; !there {
			m.Files[name] = sum
		}
	}
	return m.Encode()
}

// replace writes a file under another name and puts it in place at once.
func replace(root *os.Root, name string, data []byte) (err error) {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	tmp := path.Join(path.Dir(name), unfinished+rand.Text())
	defer func() {
		if err != nil {
			_ = root.Remove(tmp)
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

// remove takes a file away, and the directories that held nothing else.
func remove(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break // something else lies there
		}
	}
	return nil
}
