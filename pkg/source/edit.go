package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// RulesEdit makes another document of a rules document, which may be empty.
type RulesEdit func(file string, data []byte, disk visibility.Disk) ([]byte, error)

// EditRules changes the rules document, the one file of the user's that mcpx
// writes, when it is asked to. agree may refuse what the change comes to; a
// refused one, or one that cannot be written, changes nothing. The file is
// replaced as a whole, so nobody reads half of it.
func (l *Loader) EditRules(edit RulesEdit, agree func(before, after *Rules) error) error {
	l.editing.Lock()
	defer l.editing.Unlock()
	before := l.Rules()
	mode, err := writable(before.Path)
	if err != nil {
		return err
	}
	data, problem := before.read()
	if problem != nil {
		return *problem
	}
	text, err := edit(before.Path, data, before.disk)
	if err != nil || data != nil && bytes.Equal(text, data) {
		return err
	}
	after := &Rules{Path: before.Path, Exists: true}
	after.Document, after.Problems = visibility.Parse(before.Path, text)
	if after.Problems.HasErrors() { // the editor writes none; what it was given could be anything
		return after.Problems[0]
	}
	after.Table = after.Document.On(before.disk)
	if err := agree(before, after); err != nil {
		return err
	}
	return replace(before.Path, text, mode)
}

// writable refuses a document that is somebody else's to write (design D12): a
// link, as Nix and dotfile managers leave one, is never written through, nor
// replaced by a file.
func writable(path string) (fs.FileMode, error) {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o600, nil
	case err != nil:
		return 0, *refusal(path, canon.Reason(err).Error(), "")
	case fi.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return 0, *refusal(path, "is a link to "+target+": whoever made the link writes it", "edit what it is made from (in Nix: the rules option of the mcpx module), or replace the link by a file")
	case !fi.Mode().IsRegular():
		return 0, *refusal(path, "is not a regular file", "")
	case owner(fi) != os.Geteuid():
		return 0, *refusal(path, fmt.Sprintf("belongs to user %d", owner(fi)), "only your own rules are written")
	case fi.Mode().Perm()&0o200 == 0:
		return 0, *refusal(path, "is read-only", "chmod u+w it, or edit what it is made from")
	}
	return fi.Mode().Perm(), nil
}

// replace puts text where path is, all of it or nothing.
func replace(path string, text []byte, mode fs.FileMode) (err error) {
	failed := func(err error) error {
		return *refusal(path, "was not written: "+canon.Reason(err).Error(), "is its directory yours, and is there room?")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return failed(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".rules-*.json")
	if err != nil {
		return failed(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = failed(err)
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
