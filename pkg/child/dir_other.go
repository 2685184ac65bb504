//go:build !linux

package child

import (
	"os"
	"path/filepath"
	"syscall"
)

// openDir looks at the directory as late as it can be: here a child cannot be
// started in a directory that is held open.
func openDir(path string, exact bool) (workdir, error) {
	info, err := os.Stat(path)
	if err != nil {
		return workdir{}, err
	}
	if !info.IsDir() {
		return workdir{}, syscall.ENOTDIR
	}
	if real, err := filepath.EvalSymlinks(path); err != nil {
		return workdir{}, err
	} else if exact && real != path {
		return workdir{}, swappedError{real}
	}
	return workdir{path: path, spawn: path, close: func() {}}, nil
}
