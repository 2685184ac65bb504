package registry

import (
	"os"
	"time"
)

// program is the file that was run, as far as an upgrade shows on it.
type program struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
}

// stamp is the program at path as it is now; only its path when there is none.
func stamp(path string) program {
	p := program{Path: path}
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
		p.Size, p.ModTime = fi.Size(), fi.ModTime()
	}
	return p
}

// unchanged reports whether the file is still the one that was run.
func (p program) unchanged() bool { return p.same(stamp(p.Path)) }

func (p program) same(o program) bool {
	return p.Path == o.Path && p.Size == o.Size && p.ModTime.Equal(o.ModTime)
}
