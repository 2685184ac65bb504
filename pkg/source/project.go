package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
)

// projectName is what a project's file is called. In HOME it is the user's own.
const projectName = ".mcpx.json"

// ProjectFile is what `mcpx trust` shows before it asks.
type ProjectFile struct {
	Path    string // canonical
	SHA256  string // of exactly the bytes that were parsed
	Config  *config.File
	Trusted bool
}

// projectFiles are what lies between a directory and HOME, nearest first.
type projectFiles []projectFile

// projectFile is a file, or the reason why one that is there has no say.
type projectFile struct {
	path    string
	file    *ProjectFile
	problem *config.Problem
}

func (ps projectFiles) inForce() []*config.File {
	var files []*config.File
	for _, p := range ps {
		if p.file != nil && p.file.Trusted {
			files = append(files, p.file.Config)
		}
	}
	return files
}

// projectDirs are the directories whose project files a session in dir reads:
// upward, stopping below HOME, or at the root for a dir outside HOME.
func (l *Loader) projectDirs(dir string) []string {
	if dir == "" || len(l.o.Explicit) > 0 {
		return nil
	}
	if real, err := canon.Path(dir); err == nil {
		dir = real
	}
	var dirs []string
	for dir != l.home {
		dirs = append(dirs, dir)
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return dirs
}

func (l *Loader) projectFiles(dir string, own *ownFiles) projectFiles {
	var found projectFiles
	for _, d := range l.projectDirs(dir) {
		path := filepath.Join(d, projectName)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if real, err := canon.Path(path); err == nil && own.real[real] {
			continue // the user's own by another way: never asked for trust
		}
		found = append(found, readTrusted(path, own.trust))
	}
	return found
}

// readTrusted reads a project file and decides whether it has a say.
func readTrusted(path string, trust *trusted) projectFile {
	root, file, err := openProject(path)
	if errors.Is(err, fs.ErrNotExist) {
		return projectFile{path: path}
	}
	if err != nil {
		return projectFile{path: path, problem: asProblem(path, err)}
	}
	defer root.Close()
	file.Trusted = trust.holds(root, file)
	return projectFile{path: path, file: file}
}

func asProblem(path string, err error) *config.Problem {
	if p, ok := errors.AsType[config.Problem](err); ok {
		return &p
	}
	if fi, lerr := os.Lstat(path); lerr == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return refusal(path, "is a link that leads out of its directory: "+canon.Reason(err).Error(), "put the file itself there")
	}
	return refusal(path, canon.Reason(err).Error(), "make it readable")
}

// ReadProject opens a project file once, checks it (threat T5) and parses the
// bytes it hashed. path must be absolute; the error is a config.Problem, or the
// operating system's.
func (l *Loader) ReadProject(path string) (*ProjectFile, config.Problems, error) {
	path, err := l.projectPath(path)
	if err != nil {
		return nil, nil, err
	}
	p := readTrusted(path, l.ownFiles(l.generation()).trust)
	switch {
	case p.problem != nil:
		return nil, nil, *p.problem
	case p.file == nil:
		return nil, nil, *refusal(path, "no such file", "")
	}
	return p.file, p.file.Config.Problems(), nil
}

// projectPath makes the directory canonical and refuses what is no project
// file: another name, or the user's own.
func (l *Loader) projectPath(path string) (string, error) {
	if filepath.Base(path) != projectName {
		return "", *refusal(path, "is not a project file", "project files are called "+projectName)
	}
	dir, err := canon.Path(filepath.Dir(path))
	if err != nil {
		return "", *refusal(path, canon.Reason(err).Error(), "")
	}
	path = filepath.Join(dir, projectName)
	real, err := canon.Path(path)
	if err == nil && l.ownFiles(l.generation()).real[real] {
		return "", *refusal(path, "is your own file and needs no trust", "")
	}
	return path, nil
}

func (l *Loader) generation() *generation {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.gen
}

// openProject reads and parses a project file through its directory, which a
// link may not leave, and returns that directory open.
func openProject(path string) (*os.Root, *ProjectFile, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	file, err := readProject(root, path)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, file, nil
}

func readProject(root *os.Root, path string) (*ProjectFile, error) {
	// Non-blocking, or a FIFO would hold the session until somebody writes.
	f, err := root.OpenFile(projectName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if uid := owner(fi); uid != os.Geteuid() {
		return nil, *refusal(path, fmt.Sprintf("belongs to user %d", uid), "only your own project files are read: chown it")
	}
	if mode := fi.Mode().Perm(); mode&0o002 != 0 || mode&0o020 != 0 && group(fi) != os.Getegid() {
		return nil, *refusal(path, fmt.Sprintf("mode %04o lets others write it", mode), "chmod go-w it")
	}
	data, problem := readAll(f, fi, path)
	if problem != nil {
		return nil, *problem
	}
	sum := sha256.Sum256(data)
	parsed, _ := config.Parse(path, config.Project, data)
	if real, err := canon.Path(path); err == nil {
		parsed.Real = real
	}
	return &ProjectFile{Path: path, SHA256: hex.EncodeToString(sum[:]), Config: parsed}, nil
}
