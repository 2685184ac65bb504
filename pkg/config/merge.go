package config

import (
	"path"
	"slices"
)

// Merge joins files, nearest first, into one view (design §3). Files of one
// real path are one file, and the user's own then stands before a project's.
// The view's problems are those of the files and of what they add up to.
func Merge(files ...*File) *Config {
	files = distinct(files)
	c := &Config{Servers: map[string]*Resolved{}, Daemon: mergeDaemon(files)}
	var names []string
	for _, f := range files {
		c.Files = append(c.Files, f.Path)
		c.Problems = append(c.Problems, f.problems...)
		names = append(names, f.Names()...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		r, ps := mergeServer(name, files)
		c.Problems = append(c.Problems, ps...)
		if r != nil {
			c.Servers[name] = r
			c.Names = append(c.Names, name)
		}
	}
	c.Problems = c.Problems.InOrder()
	c.Invalid = c.leftOut()
	return c
}

// leftOut are the names that are not served because of an error.
func (c *Config) leftOut() []string {
	var names []string
	for _, p := range c.Problems {
		if !p.Warning && p.Server != "" && c.Servers[p.Server] == nil {
			names = append(names, p.Server)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// distinct drops files met before, and a project's file that is the user's own
// by another way.
func distinct(files []*File) []*File {
	own := map[string]bool{}
	for _, f := range files {
		if f.Tier != Project {
			own[f.real()] = true
		}
	}
	seen := map[string]bool{}
	var out []*File
	for _, f := range files {
		if seen[f.real()] || f.Tier == Project && own[f.real()] {
			continue
		}
		seen[f.real()] = true
		out = append(out, f)
	}
	return out
}

func (f *File) real() string {
	if f.Real != "" {
		return f.Real
	}
	return f.Path
}

// layer is what one file says about one server.
type layer struct {
	file *File
	*entry
}

// layersOf are what the files say about a server, nearest first. An entry with
// errors has no say; ok is false when it stands nearer than the definition does,
// or in its place: to fall back to a farther file would run what the nearest
// does not say.
func layersOf(name string, files []*File) (layers []layer, ok bool) {
	defined := false
	for _, f := range files {
		switch e := f.entries[name]; {
		case e == nil:
		case !e.bad:
			layers = append(layers, layer{f, e})
			defined = defined || e.raw.hasSpawn()
		case !defined:
			return nil, false
		}
	}
	return layers, true
}

func spawnLayer(layers []layer) *layer {
	for i := range layers {
		if layers[i].raw.hasSpawn() {
			return &layers[i]
		}
	}
	return nil
}

// mergeServer returns nil for a name that cannot be served.
func mergeServer(name string, files []*File) (*Resolved, Problems) {
	layers, ok := layersOf(name, files)
	if !ok {
		return nil, nil
	}
	m := &merger{name: name, layers: layers, files: files, origins: map[string]Origin{}}
	spawn := spawnLayer(layers)
	if spawn == nil {
		return nil, m.nothingToOverride()
	}
	r := m.spawnPart(spawn)
	m.mcpxPart(r)
	r.Origins = m.origins
	m.checkTogether(r, spawn)
	if m.problems.HasErrors() {
		return nil, m.problems
	}
	return r, m.problems
}

// merger makes one server.
type merger struct {
	name     string
	layers   []layer
	files    []*File
	origins  map[string]Origin
	problems Problems
}

func (m *merger) report(at Origin, field string, f fault) {
	m.problems = append(m.problems, spot{at: at, server: m.name, field: field}.problem(f))
}

// nothingToOverride is an error in the user's own files, where a command was
// forgotten; a project may well know servers this user has not.
func (m *merger) nothingToOverride() Problems {
	near := m.layers[0]
	if near.raw.Mcpx.Disabled != nil && *near.raw.Mcpx.Disabled {
		return nil
	}
	m.report(near.at[""], "", fault{
		msg:  "changes a server that no file defines",
		hint: `add "command": "program" or "url": "https://…"`,
		warn: near.file.Tier == Project,
	})
	return m.problems
}

// spawnPart takes all of it from one file: no credential of one tier meets a
// destination of another (threat T6).
func (m *merger) spawnPart(l *layer) *Resolved {
	raw := l.raw
	r := &Resolved{
		Name: m.name, Tier: l.file.Tier, Dir: path.Dir(l.file.real()),
		Command: raw.Command, Args: raw.Args, Env: raw.Env, Cwd: raw.Cwd,
		URL: raw.URL, Headers: raw.Headers,
	}
	if raw.Mcpx != nil {
		r.Secrets = raw.Mcpx.Secrets
	}
	for field, at := range l.at {
		if isSpawnField(field) {
			m.origins[field] = at
		}
	}
	return r
}
