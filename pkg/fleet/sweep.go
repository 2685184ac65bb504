package fleet

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// unfinished begins the name of a file that is being written; random text of
// crypto/rand ends it.
const unfinished = ".mcpx-"

// lock waits until no other process writes in root, and with LOCK_EX until none
// compares either. A file system that locks no
// directories, as that of a network may be, leaves us not alone.
func lock(root *os.Root, how int) (unlock func() error, alone bool, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, false, err
	}
	for {
		err := syscall.Flock(int(dir.Fd()), how)
		if err != syscall.EINTR {
			return dir.Close, err == nil, nil
		}
	}
}

// sweep removes unfinished files from where the named files are. Under the lock
// nobody is at work on them.
func sweep[A, B any](root *os.Root, files map[string]A, owned map[string]B) error {
	dirs := map[string]bool{}
	for name := range files {
		dirs[path.Dir(name)] = true
	}
	for name := range owned {
		dirs[path.Dir(name)] = true
	}
	for dir := range dirs {
		entries, err := fs.ReadDir(root.FS(), dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !isUnfinished(e) {
				continue
			}
			if err := root.Remove(path.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func isUnfinished(e fs.DirEntry) bool {
	text, ok := strings.CutPrefix(e.Name(), unfinished)
	return ok && e.Type().IsRegular() && len(text) == len(rand.Text()) && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
