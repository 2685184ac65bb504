package registry

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/spawn"
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

// program finds what a plan runs, on the child's PATH. A remote has none.
func (r *Registry) program(ctx context.Context, p spawn.Plan) program {
	if p.Command == "" || strings.Contains(p.Command, "/") {
		return stamp(p.Command)
	}
	for _, dir := range filepath.SplitList(r.pathOf(ctx, p)) {
		if found := stamp(filepath.Join(dir, p.Command)); found.Size > 0 {
			return found
		}
	}
	return program{Path: p.Command}
}

// pathOf is the PATH of a plan's child.
func (r *Registry) pathOf(ctx context.Context, p spawn.Plan) string {
	if path, ok := p.Env["PATH"]; ok {
		return path
	}
	base := os.Environ()
	if r.o.Child.Base != nil {
		var err error
		if base, err = r.o.Child.Base(ctx); err != nil {
			return "" // the start that needed it has told
		}
	}
	path := ""
	for _, entry := range base {
		if v, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = v
		}
	}
	return path
}
