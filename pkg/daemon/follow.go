package daemon

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/dezren39/mcpx/pkg/config"
)

// told is which problems the log has, so that each stands there once and not at
// each reading.
type told struct {
	mu   sync.Mutex // guards what follows
	said map[string]bool
}

// note logs those that the reading before did not have.
func (t *told) note(log *slog.Logger, problems config.Problems) {
	t.mu.Lock()
	before := t.said
	t.said = map[string]bool{}
	var fresh config.Problems
	for _, p := range problems {
		if text := p.Error(); !t.said[text] {
			t.said[text] = true
			if !before[text] {
				fresh = append(fresh, p)
			}
		}
	}
	t.mu.Unlock()
	for _, p := range fresh {
		log.Warn("found config problem", "server", p.Server, "err", p.Error())
	}
}

// liveDirs are where the open sessions stand.
func (d *Daemon) liveDirs() []string {
	var dirs []string
	for _, c := range d.table.All() {
		if dir := c.Snapshot().Dir; dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// follow takes up files that changed.
func (d *Daemon) follow() {
	d.reread()
	d.o.Log.Info("reloaded config")
}

// reread reads the config again and lets every session and pool follow it. It
// returns how many servers the live views name, and what is wrong with the
// user's own files, which then stay in force as they were (report J1).
func (d *Daemon) reread() (live int, problems config.Problems) {
	d.rereading.Lock()
	defer d.rereading.Unlock()
	before := d.loader.View("")
	problems = d.loader.Reload()
	own := d.loader.View("")
	d.told.note(d.o.Log, own.Problems)
	d.announce(before, own)
	d.limits.Set(own.Daemon.MaxInstances, own.Daemon.MaxStarts)
	servers := slices.Collect(serversOf(own))
	for _, c := range d.table.All() {
		c.Refresh()
		servers = slices.AppendSeq(servers, serversOf(d.loader.View(c.Snapshot().Dir)))
	}
	d.servers.Keep(servers)
	return len(servers), problems
}

func serversOf(c *config.Config) func(yield func(*config.Resolved) bool) {
	return func(yield func(*config.Resolved) bool) {
		for _, name := range c.Names {
			if s := c.Servers[name]; s != nil && !yield(s) {
				return
			}
		}
	}
}

// announce logs what the user's own files start now and did not before: whoever
// wrote there chose a program (threat T36). Children have one environment for as
// long as the daemon runs, so a change of that only counts later.
func (d *Daemon) announce(before, now *config.Config) {
	if !slices.Equal(before.Daemon.Path, now.Daemon.Path) || !maps.Equal(before.Daemon.Env, now.Daemon.Env) {
		d.o.Log.Warn("kept environment", "err", "daemon.path and daemon.env count from the next start of the daemon: mcpx stop")
	}
	if h, old := now.Daemon.HTTP, before.Daemon.HTTP; (h == nil) != (old == nil) || h != nil && *h != *old {
		d.o.Log.Warn("kept HTTP front", "err", "daemon.http counts from the next start of the daemon: mcpx stop")
	}
	for _, name := range now.Names {
		s, old := now.Servers[name], before.Servers[name]
		switch {
		case s == nil:
		case old == nil:
			d.o.Log.Info("added server", "server", name)
		case old.Definition() != s.Definition():
			d.o.Log.Info("changed server", "server", name)
		}
	}
	for _, name := range before.Names {
		if before.Servers[name] != nil && now.Servers[name] == nil {
			d.o.Log.Info("removed server", "server", name)
		}
	}
}
