package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dezren39/mcpx/pkg/config"
)

const (
	trustFile   = "trust.json"
	trustFormat = 1

	// maxArgvFile bounds what is hashed for one view, in bytes.
	maxArgvFile = 256 << 20
)

// record is what a person approved: the file's bytes, and those of the programs
// and scripts inside the project that its servers name (threat T5).
type record struct {
	SHA256 string            `json:"sha256"`
	Files  map[string]string `json:"files,omitempty"` // SHA-256 by path inside the project
}

// trusted is trust.json. Its zero value trusts nothing.
type trusted struct {
	Projects map[string]record `json:"projects"` // by canonical path of the file
}

// holds reports whether exactly this content was approved.
func (t *trusted) holds(root *os.Root, file *ProjectFile) bool {
	if !t.knows(file) {
		return false
	}
	files, err := hashArgv(root, file.Config)
	return err == nil && maps.Equal(files, t.Projects[file.Path].Files)
}

// knows reports whether these bytes of the file were approved; the programs that
// it names may still have changed.
func (t *trusted) knows(file *ProjectFile) bool {
	rec, ok := t.Projects[file.Path]
	return ok && rec.SHA256 == file.SHA256
}

// programs are the files whose content decides, beside their own, whether the
// project files are trusted.
func (ps projectFiles) programs(t *trusted) []string {
	var files []string
	for _, p := range ps {
		if p.file == nil || !t.knows(p.file) {
			continue
		}
		dir := filepath.Dir(p.path)
		for _, name := range p.file.Config.Names() {
			if s := p.file.Config.Server(name); s != nil {
				for _, rel := range inProject(dir, s) {
					files = append(files, filepath.Join(dir, rel))
				}
			}
		}
	}
	return files
}

// loadTrust reads trust.json. One that cannot be vouched for trusts nothing
// (threat T38): the result is then empty, beside the error.
func (l *Loader) loadTrust() (*trusted, error) {
	t := &trusted{}
	if l.o.State == nil {
		return t, nil
	}
	_, err := l.o.State.Load(trustFile, trustFormat, t)
	return t, err
}

// Trust remembers path with this content, and the files its servers name as
// they are now; the views are read anew. It fails when the file no longer has
// that content.
func (l *Loader) Trust(path, sha256 string) error {
	path, err := l.projectPath(path)
	if err != nil {
		return err
	}
	root, file, err := openProject(path)
	if err != nil {
		return err
	}
	defer root.Close()
	if file.Config.Broken {
		return file.Config.Problems()[0]
	}
	if file.SHA256 != sha256 {
		return *refusal(path, "changed since it was shown", "look at it again: mcpx trust "+path)
	}
	files, err := hashArgv(root, file.Config)
	if err != nil {
		return err
	}
	return l.decide(func(t *trusted) {
		if t.Projects == nil {
			t.Projects = map[string]record{}
		}
		t.Projects[path] = record{SHA256: sha256, Files: files}
	})
}

// Untrust forgets path, whether or not the file is still there; the views are
// read anew.
func (l *Loader) Untrust(path string) error {
	if real, err := l.projectPath(path); err == nil {
		path = real
	}
	return l.decide(func(t *trusted) { delete(t.Projects, path) })
}

// decide changes trust.json. One that cannot be read is left as it is.
func (l *Loader) decide(change func(*trusted)) error {
	if l.o.State == nil {
		return errors.New("there is no state directory to keep trust in")
	}
	l.deciding.Lock()
	defer l.deciding.Unlock()
	t, err := l.loadTrust()
	if err != nil {
		return err
	}
	change(t)
	if err := l.o.State.Save(trustFile, trustFormat, t); err != nil {
		return err
	}
	l.forget()
	return nil
}

// hashArgv hashes each element of a server's command line that is a regular
// file inside the project.
func hashArgv(root *os.Root, f *config.File) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range f.Names() {
		s := f.Server(name)
		if s == nil {
			continue
		}
		for _, path := range inProject(root.Name(), s) {
			if files[path] != "" {
				continue
			}
			sum, err := hashFile(root, path)
			if err != nil {
				return nil, err
			}
			if sum != "" {
				files[path] = sum
			}
		}
	}
	return files, nil
}

// inProject are the paths below dir that the command line may mean: relative to
// dir, to the server's cwd, or to a root, which is taken to be dir.
func inProject(dir string, s *config.RawServer) []string {
	expand := strings.NewReplacer("${mcpx.root}", dir, "${mcpx.cwd}", dir)
	cwd := within(dir, expand.Replace(s.Cwd))
	var paths []string
	for _, word := range append([]string{s.Command}, s.Args...) {
		word = expand.Replace(word)
		for _, base := range []string{dir, cwd} {
			if rel, err := filepath.Rel(dir, within(base, word)); err == nil && filepath.IsLocal(rel) {
				paths = append(paths, rel)
			}
		}
	}
	return paths
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// hashFile is "" for what is no regular file inside root: a name that is no
// path at all, a directory, a link that leads out.
func hashFile(root *os.Root, path string) (string, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return "", err
		}
		return "", nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxArgvFile+1))
	switch {
	case err != nil:
		return "", err
	case n > maxArgvFile:
		return "", fmt.Errorf("%s: larger than %d bytes, and cannot be trusted", filepath.Join(root.Name(), path), maxArgvFile)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
