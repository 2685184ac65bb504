package child

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// workdir is the directory a child starts in.
type workdir struct {
	path  string // as decided; PWD
	spawn string // what exec.Cmd is told
	close func()
}

// enter opens the plan's directory, or home when it has none. There is no other
// fallback: a wrong directory is worse than no start (record 0004 §9).
func enter(p spawn.Plan, home string) (workdir, error) {
	path := p.Dir
	if path == "" {
		path = home
	}
	// A root is written without links. A path that leads elsewhere by now was
	// swapped after it was decided (threat T24); a cwd in a config may be a link.
	d, err := openDir(path, p.DirSource == spawn.DirFromScope)
	if err != nil {
		return workdir{}, config.Problem{Server: p.Server, Field: "cwd", Msg: dirMessage(path, err), Hint: dirHint(p.DirSource)}
	}
	return d, nil
}

// swappedError says that a decided directory is now a link to another.
type swappedError struct{ real string }

func (e swappedError) Error() string { return "now leads to " + e.real + ", and was not followed" }

func dirMessage(path string, err error) string {
	switch {
	case path == "":
		return "no directory is known to start in"
	case errors.Is(err, fs.ErrNotExist):
		return "directory " + path + " does not exist"
	case errors.Is(err, syscall.ENOTDIR):
		return path + " is not a directory"
	}
	return "directory " + path + ": " + canon.Reason(err).Error()
}

func dirHint(source spawn.DirSource) string {
	switch source {
	case spawn.DirFromConfig:
		return `create it, or change the server's "cwd"`
	case spawn.DirFromScope:
		return "the session's directory was removed or moved after the session began"
	}
	return "it is the home directory of the user who runs the daemon"
}
