// Package fleet reads a fleet folder, from the disk or from a commit, and writes
// what render makes of it. It knows nothing of what the files mean.
package fleet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dezren39/mcpx/pkg/render"
)

// maxFile is the largest file that is read, in bytes.
const maxFile = 4 << 20

// Tree is a fleet folder as it was read.
type Tree struct {
	Files  map[string][]byte // by slash-separated name below the folder
	Commit string            // that the files are of; "" when it is not known
	Dirty  bool              // the files differ from the commit
	Doubt  error             // why the commit is not known, though there is a repository
}

// Error is what stands in the way, and what to do about it.
type Error struct{ msg, hint string }

func (e *Error) Error() string { return e.msg }

// Hint is what to do.
func (e *Error) Hint() string { return e.hint }

// Read reads the folder from the disk and compares it with the last commit. What
// is not there is not in Files: render says what is missing.
func Read(dir string) (Tree, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return Tree{}, &Error{dir + ": no such directory", "name the fleet folder: --fleet DIR"}
	}
	t := Tree{Files: map[string][]byte{}}
	names, err := onDisk(dir)
	if err != nil {
		return Tree{}, err
	}
	for _, name := range names {
		data, err := readFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Tree{}, err
		}
		t.Files[name] = data
	}
	t.compare(dir)
	return t, nil
}

// onDisk are the names that a fleet folder may have.
func onDisk(dir string) ([]string, error) {
	names := []string{render.SharedName, render.RulesName}
	entries, err := os.ReadDir(filepath.Join(dir, render.MachineDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if isMachine(e.Name()) {
			names = append(names, path.Join(render.MachineDir, e.Name()))
		}
	}
	return names, nil
}

// isMachine leaves out what editors leave behind.
func isMachine(base string) bool {
	return strings.HasSuffix(base, ".json") && !strings.HasPrefix(base, ".")
}

func readFile(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{file + ": not a regular file", "a fleet folder holds files"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, &Error{fmt.Sprintf("%s: larger than %d MiB", file, maxFile>>20), "is it a file of the fleet?"}
	}
	return data, err
}
