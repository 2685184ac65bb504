package source

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
)

// fingerprint says in short what was read: equal ones come from equal bytes.
type fingerprint struct{ b strings.Builder }

func (f *fingerprint) add(words ...string) {
	for _, w := range words {
		f.b.WriteString(w)
		f.b.WriteByte(0)
	}
}

// sumOfNothing is how an empty file shows in a fingerprint.
const sumOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// file adds an own file; data nil is a file that is not there.
func (f *fingerprint) file(path string, data []byte, problem *config.Problem) {
	switch {
	case problem != nil:
		f.add(path, "!", problem.Msg)
	case data == nil:
		f.add(path, "-")
	default:
		sum := sha256.Sum256(data)
		f.add(path, hex.EncodeToString(sum[:]))
	}
}

// held is the fingerprint of what the views in force were made from, and now
// that of the same files as they are on disk. They differ when a Reload would
// read anything new.
func (l *Loader) held() string {
	gen := l.generation()
	own := l.ownFiles(gen)
	f := &fingerprint{}
	f.add(own.print)
	for dir, p := range sorted(l.places(gen)) {
		f.add(dir, p.key)
	}
	return f.b.String()
}

func (l *Loader) now() string {
	gen := l.generation()
	own := l.ownFiles(gen)
	print := &fingerprint{}
	for _, c := range l.ownCandidates() {
		data, problem := readFile(c)
		print.file(c.path, data, problem)
	}
	print.add(own.rules.now())
	f := &fingerprint{}
	f.add(print.b.String())
	for dir := range sorted(l.places(gen)) {
		f.add(dir, l.projectFiles(dir, own).key())
	}
	return f.b.String()
}

// places are the directories that have a view.
func (l *Loader) places(gen *generation) map[string]standing {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(gen.places)
}

// forgetPlaces drops the views of directories that are not wanted any more.
func (l *Loader) forgetPlaces(wanted func(dir string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for dir := range l.gen.places {
		if dir != "" && !wanted(dir) {
			delete(l.gen.places, dir)
			delete(l.gen.views, dir)
		}
	}
}

// followed are the files that the views in force were made from, or would be if
// they were there.
func (l *Loader) followed() []string {
	var files []string
	for _, c := range l.ownCandidates() {
		files = append(files, c.path)
	}
	gen := l.generation()
	rules := l.ownFiles(gen).rules
	files = append(append(files, rules.Path), rules.dirs()...)
	for dir, p := range l.places(gen) {
		for _, d := range l.projectDirs(dir) {
			files = append(files, filepath.Join(d, projectName))
		}
		files = append(files, p.programs...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
