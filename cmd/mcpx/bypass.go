package main

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
)

// bypasses are the entries of hosts that start a server of the view themselves.
// A file that cannot be read or parsed is its host's to complain about.
func bypasses(v *view) []bypass {
	var found []bypass
	for _, h := range hostfile.All() {
		seen := map[string]bool{} // a home that is a project has one file for both
		for _, place := range h.Places {
			base := v.dirs.Home
			if place.Project {
				base = cmp.Or(v.cc.Git.Worktree, v.cc.Cwd)
			}
			file := filepath.Join(base, place.Path)
			if seen[file] {
				continue
			}
			seen[file] = true
			data, err := readRegular(file, maxHostFile)
			if err != nil {
				continue
			}
			entries, err := h.Decode(file, data, cmp.Or(v.cc.Git.Worktree, v.cc.Cwd))
			if err != nil {
				continue
			}
			for _, e := range entries {
				if ours := sameServer(v.cfg, e); ours != "" {
					found = append(found, bypass{h.Title, file, e.Name, instead(h, e, place, ours)})
				}
			}
		}
	}
	return found
}

// instead is how the host is told to go by mcpx.
func instead(h hostfile.Host, e hostfile.Entry, place hostfile.Place, ours string) string {
	l := hostfile.User
	switch {
	case e.Local:
		l = hostfile.Local
	case place.Project:
		l = hostfile.Project
	}
	through := hostfile.Connect(ours, "")
	through.Name = e.Name
	return h.Register(through, l)
}

// sameServer is the name of the server in the view that an entry starts without
// mcpx, by its name or by what it runs, "" when there is none. Pure.
func sameServer(cfg *config.Config, e hostfile.Entry) string {
	if e.Disabled || e.IsConnect() {
		return ""
	}
	if cfg.Servers[e.Name] != nil {
		return e.Name
	}
	for _, name := range cfg.Names {
		s := cfg.Servers[name]
		switch {
		case s == nil:
		case e.URL != "" && e.URL == s.URL,
			e.Command != "" && s.Command != "" && filepath.Base(e.Command) == filepath.Base(s.Command) && slices.Equal(e.Args, s.Args):
			return name
		}
	}
	return ""
}
