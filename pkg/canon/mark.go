package canon

import (
	"os"
)

// Mark is a directory as it was at one moment: a name can come to mean another
// directory, and a process that stands in the first one stays there.
type Mark struct {
	dir  string
	info os.FileInfo
}

// Marked is the directory that a canonical path names now.
func Marked(dir string) (Mark, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return Mark{}, err
	}
	return Mark{dir, info}, nil
}

// Holds reports whether the name still means the directory that was marked.
func (m Mark) Holds() bool {
	now, err := os.Stat(m.dir)
	return err == nil && os.SameFile(m.info, now)
}
