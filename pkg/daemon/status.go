package daemon

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/visibility"
)

// facts are what status is built from: one moment, gathered, then nothing more
// is asked.
type facts struct {
	version    string
	pid        int
	runtimeDir string
	home       string
	supervised bool
	started    time.Time
	rss        int64
	path       []string
	http       *api.HTTPStatus // nil: the front is off
	httpFault  *api.Problem    // why, when it should not be
	own        *config.Config  // the user's own view
	instances  []api.InstanceStatus
	conns      []session.Snapshot
	kept       func(*config.Resolved) (tools int, kept bool)
}

func (d *Daemon) status() *api.Status {
	f := facts{
		version: d.o.Version, pid: os.Getpid(), runtimeDir: d.runtime.Path(), home: d.o.Dirs.Home, supervised: d.o.Supervised,
		started: d.started, rss: proc.RSS(os.Getpid()), path: d.searched(),
		own:  d.loader.View(""),
		http: d.web.status(), httpFault: d.web.fault,
		instances: d.servers.Snapshot(),
		kept: func(s *config.Resolved) (int, bool) {
			c, kept := d.servers.Catalogue(s)
			if !kept {
				return 0, false
			}
			return c.Tools(), true
		},
	}
	for _, c := range d.table.All() {
		f.conns = append(f.conns, c.Snapshot())
	}
	return build(f)
}

// build is status as one pure function of the facts.
func build(f facts) *api.Status {
	s := &api.Status{
		Daemon: api.DaemonStatus{
			Version: f.version, PID: f.pid, RuntimeDir: f.runtimeDir, Home: f.home, Supervised: f.supervised,
			Config: f.own.Files, StartedAt: f.started, RSSBytes: f.rss, Path: f.path, HTTP: f.http,
		},
		Instances: slices.Clone(f.instances),
		Sessions:  sessions(f),
		Problems:  api.Problems(f.own.Problems),
		Servers:   servers(f),
	}
	for i, in := range s.Instances {
		words := in.Words()
		s.Instances[i].Display, s.Instances[i].Dead = words, api.Dead(words)
		if in.PID != 0 {
			s.Daemon.Children++
		}
	}
	if s.Daemon.Path == nil {
		s.Daemon.Path = []string{}
	}
	if s.Daemon.Config == nil {
		s.Daemon.Config = []string{}
	}
	if s.Instances == nil {
		s.Instances = []api.InstanceStatus{}
	}
	if f.httpFault != nil {
		s.Problems = append(s.Problems, *f.httpFault)
	}
	seen := map[string]bool{}
	for _, p := range s.Problems {
		seen[p.Where+p.Message] = true
	}
	for _, c := range f.conns { // what only a session's directory brings in
		for _, p := range api.Problems(c.View.Problems) {
			if !seen[p.Where+p.Message] {
				seen[p.Where+p.Message] = true
				s.Problems = append(s.Problems, p)
			}
		}
	}
	return s
}

// servers are the servers of the user's own view, running or not.
func servers(f facts) []api.ServerStatus {
	out := []api.ServerStatus{}
	for _, name := range f.own.Names {
		r := f.own.Servers[name]
		st := api.ServerStatus{Name: name, Scope: string(r.Scope), State: "idle"}
		st.Tools, st.Listed = f.kept(r)
		switch {
		case r.Disabled:
			st.State = "disabled"
		case slices.ContainsFunc(f.instances, func(in api.InstanceStatus) bool { return in.Server == name }):
			st.State = ""
		}
		out = append(out, st)
	}
	for _, u := range f.own.Untrusted {
		out = append(out, api.ServerStatus{Name: u.Name, State: "untrusted", Reason: u.File})
	}
	return out
}

// sessions groups connections by identity.
func sessions(f facts) []api.SessionStatus {
	out := []api.SessionStatus{}
	var decisions []visibility.Decision
	at := map[string]int{}
	for _, c := range f.conns {
		i, known := at[c.Session]
		if !known {
			i = len(out)
			at[c.Session] = i
			out = append(out, api.SessionStatus{
				ID: c.Session, Parent: c.Parent, Since: c.Since,
				Host:  api.HostStatus{Name: c.HostName, Version: c.HostVersion, PID: c.Host.PID},
				Cwd:   api.CwdStatus{Path: c.Dir, Origin: string(c.Origin), Stale: c.Stale},
				Roots: rootsOf(c.Roots), Frozen: c.Frozen, Servers: []api.SessionServer{},
			})
			decided(&out[i], c.Decision)
			decisions = append(decisions, c.Decision)
		}
		out[i].Connections++
		for _, seen := range c.Servers {
			if !slices.ContainsFunc(out[i].Servers, func(s api.SessionServer) bool { return s.Name == seen.Name }) {
				out[i].Servers = append(out[i].Servers, serverOf(f, seen))
			}
		}
	}
	for i := range out {
		for _, name := range out[i].Missing {
			out[i].Servers = append(out[i].Servers, api.SessionServer{Name: name, State: api.NoSuchName, Reason: decisions[i].Why() + " names it"})
		}
		out[i].Badge = badge(out[i], decisions[i])
	}
	return out
}

// decided is what the session sees and why.
func decided(s *api.SessionStatus, d visibility.Decision) {
	if d.Row >= 0 {
		s.Rule = &d.Rule
	}
	if d.Override.Set {
		text := d.Override.String()
		s.Override = &text
	}
	s.Visible, s.Hidden, s.Missing = list(d.Visible()), list(d.Hidden()), list(d.Missing)
}

// badge is the session's in a word or two. It has a mark when a server that the
// session is allowed cannot serve: it fails, or it is off though the rule names it.
func badge(s api.SessionStatus, d visibility.Decision) string {
	dead := slices.ContainsFunc(s.Servers, func(v api.SessionServer) bool {
		return slices.Contains(s.Visible, v.Name) && v.Dead
	})
	if !d.Override.Set {
		dead = dead || slices.ContainsFunc(d.Allow.Servers, func(name string) bool {
			return !slices.Contains(s.Visible, name) && !slices.Contains(s.Missing, name)
		})
	}
	return d.Badge(dead)
}

// list is never null in JSON.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

func rootsOf(rs []roots.Root) []api.RootStatus {
	out := []api.RootStatus{}
	for _, r := range rs {
		out = append(out, api.RootStatus{URI: cmp.Or(r.URI, r.Path), Origin: string(r.Origin), Ignored: r.Ignored})
	}
	return out
}

// serverOf is a connection's server as its session sees it: measured where an
// instance is up, kept where none is.
func serverOf(f facts, c session.Seen) api.SessionServer {
	st := api.SessionServer{Name: c.Name, Reason: c.Reason}
	if c.Resolved == nil {
		st.State = c.State
		return st
	}
	for _, in := range f.instances {
		if in.Server == c.Name && in.Key == c.Key {
			st.State, st.Tools = in.Words(), in.Tools
			st.Reason = in.Reason
			if st.Dead = api.Dead(st.State); st.Dead {
				st.Reason = cmp.Or(in.Reason, in.LastError)
			}
			return st
		}
	}
	st.State = api.Idle
	if n, kept := f.kept(c.Resolved); kept {
		st.State, st.Tools = api.ListKept, n
	}
	return st
}
