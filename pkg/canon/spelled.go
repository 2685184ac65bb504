package canon

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// disk is what spelled asks of the file system; a test answers as a volume that
// folds case, which cannot be made everywhere.
type disk struct {
	lstat func(string) (fs.FileInfo, error)
	names func(dir string) ([]string, error)
}

// spelled gives each element of an existing path the name its directory holds.
// It asks the file system and never folds by the name of the operating system:
// two directories that differ by case stay two where they are two, and are one
// where they are one (report D8).
func spelled(path string) string { return disk{os.Lstat, names}.spelled(path) }

func (d disk) spelled(path string) string {
	dir := "/"
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		dir = child(dir, d.name(dir, name))
	}
	return dir
}

// name is what dir calls the entry that name opens. Reading the whole directory
// is left out where one look shows that another spelling is another file.
func (d disk) name(dir, name string) string {
	info, err := d.lstat(child(dir, name))
	if err != nil || !d.folds(dir, name, info) {
		return name
	}
	entries, err := d.names(dir)
	if err != nil {
		return name
	}
	if slices.Contains(entries, name) {
		return name
	}
	for _, e := range entries {
		if other, err := d.lstat(child(dir, e)); err == nil && os.SameFile(info, other) {
			return e
		}
	}
	return name
}

// folds reports whether dir may hold this entry under another spelling. Beyond
// ASCII a volume may fold more than case (composed and decomposed letters), so
// there the directory is read.
func (d disk) folds(dir, name string, info fs.FileInfo) bool {
	if !ascii(name) {
		return true
	}
	swapped := strings.Map(swapCase, name)
	if swapped == name {
		return false
	}
	other, err := d.lstat(child(dir, swapped))
	return err == nil && os.SameFile(info, other)
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func child(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

func names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
