package daemon

import (
	"context"

	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/gitwhere"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/source"
)

// world is the machine as sessions see it.
type world struct {
	loader *source.Loader
}

func newWorld(l *source.Loader) *world { return &world{loader: l} }

// View is the config of a session in dir.
func (w *world) View(dir string) *config.Config { return w.loader.View(dir) }

// Rules are those on visibility that are in force.
func (w *world) Rules() *source.Rules { return w.loader.Rules() }

// Locate is the repository around dir. The ceilings are the caller's, never the
// daemon's own (design D3).
func (w *world) Locate(ctx context.Context, dir, ceilings string) scope.Git {
	return gitwhere.Locate(ctx, dir, gitwhere.Options{Ceilings: gitwhere.Ceilings(ceilings)})
}

// Canon is the one spelling of a directory. The error is the bare reason: who
// shows it names the path.
func (w *world) Canon(path string) (string, error) {
	dir, err := canon.Dir(path)
	return dir, canon.Reason(err)
}

// Stands is where p stands. A process that is gone stands nowhere for good, so
// it counts as readable: it will not move.
func (w *world) Stands(p proc.ID) (string, bool) {
	if dir, ok := proc.Cwd(p.PID); ok {
		return dir, true
	}
	return "", !p.Alive()
}
