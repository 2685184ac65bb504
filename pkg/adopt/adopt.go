// Package adopt turns the entries that hosts have today into one mcpx config
// that replaces them, and says why each is what it is. It reads and writes no
// files: the command does.
package adopt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
	"github.com/dezren39/mcpx/pkg/scope"
)

// Found is one entry and where it was.
type Found struct {
	Host  hostfile.Host
	File  string // as messages name it
	Dir   string // of the file
	Level hostfile.Level
	hostfile.Entry
}

// Server is one server of the new config.
type Server struct {
	Name   string
	From   []Found // that are replaced by it
	Scope  scope.Scope
	Reason string // for the scope
	Notes  []string
	Raw    config.RawServer // no secret is in it
}

// Plan is what to do with all that was found.
type Plan struct {
	Servers []Server // sorted by name
	Skipped []Found  // that start mcpx already
}

// Adopt makes one server of equal entries and tells different ones of one name
// apart. The same entries give the same plan.
func Adopt(found []Found) Plan {
	var p Plan
	for _, f := range found {
		if f.IsConnect() {
			p.Skipped = append(p.Skipped, f)
			continue
		}
		if i := slices.IndexFunc(p.Servers, f.sameAs); i >= 0 {
			p.Servers[i].From = append(p.Servers[i].From, f)
			continue
		}
		p.Servers = append(p.Servers, Server{Name: p.freeName(f), From: []Found{f}})
	}
	for i := range p.Servers {
		p.Servers[i].fill()
	}
	slices.SortFunc(p.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// sameAs reports whether a server is made of entries that run the same under
// the same name.
func (f Found) sameAs(s Server) bool {
	g := s.From[0]
	return f.Name == g.Name && reflect.DeepEqual(f.runs(), g.runs())
}

// runs is what an entry starts; a relative program depends on its file.
func (f Found) runs() hostfile.Entry {
	e := f.Entry
	e.Command, e.Cwd = f.absolute(e.Command), f.absolute(e.Cwd)
	e.Left, e.Local, e.Disabled = nil, false, false
	return e
}

func (f Found) absolute(p string) string {
	if strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") {
		return f.Dir + "/" + strings.TrimPrefix(p, "./")
	}
	return p
}

// freeName is the entry's name in letters mcpx takes, beginning with one that no
// flag begins with; a name that is taken by something else gets the host's name
// behind it, and then a number.
func (p Plan) freeName(f Found) string {
	plain := strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '_' || r == '-' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			return r
		}
		return '-'
	}, f.Name)
	plain = strings.TrimLeft(plain, "-._")
	plain = plain[:min(len(plain), 40)]
	if plain == "" {
		plain = "server"
	}
	name := plain
	for n := 1; slices.ContainsFunc(p.Servers, func(s Server) bool { return s.Name == name }); n++ {
		name = plain + "-" + f.Host.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%s-%d", plain, f.Host.Name, n)
		}
	}
	return name
}

// fill makes the config entry and says what a person should know about it.
func (s *Server) fill() {
	f := s.From[0]
	e := f.runs()
	k := know(e)
	s.Scope, s.Reason = k.scope, k.reason
	s.Raw = config.RawServer{Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Cwd, URL: e.URL, Headers: e.Headers}
	if e.URL != "" {
		s.Raw.Command, s.Raw.Args, s.Raw.Env, s.Raw.Cwd = "", nil, nil, ""
	} else {
		s.Raw.Headers = nil
	}
	s.Raw.Mcpx = &config.RawMcpx{}
	if k.exclusive {
		sharing := config.Exclusive
		s.Raw.Mcpx.Sharing = &sharing
	}
	if k.note != nil {
		if note := k.note(e); note != "" {
			s.note("%s", note)
		}
	}
	s.disable()
	s.workspace()
	decided := s.Scope // s moves when servers are sorted
	s.Raw.Mcpx.Scope = &decided
	s.hideSecrets()
	s.sayWhatChanged()
}

func (s *Server) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// disable keeps a server off that every host has off.
func (s *Server) disable() {
	off := func(f Found) bool { return f.Disabled }
	if n := slices.IndexFunc(s.From, func(f Found) bool { return !off(f) }); n < 0 {
		yes := true
		s.Raw.Mcpx.Disabled = &yes
	} else if slices.ContainsFunc(s.From, off) {
		s.note("is off in one host and on in another: rules can do that by directory")
	}
}

// workspace puts our own name for a checkout in place of an editor's.
func (s *Server) workspace() {
	replaced := false
	put := func(v string) string {
		out := strings.NewReplacer("${workspaceFolder}", "${mcpx.root}", "${workspaceRoot}", "${mcpx.root}").Replace(v)
		replaced = replaced || out != v
		return out
	}
	s.Raw.Args = slices.Clone(s.Raw.Args)
	for i, a := range s.Raw.Args {
		s.Raw.Args[i] = put(a)
	}
	s.Raw.Env = mapped(s.Raw.Env, put)
	s.Raw.Cwd = put(s.Raw.Cwd)
	if replaced {
		s.Scope, s.Reason = scope.Worktree, "it is told its workspace folder, which is ${mcpx.root} here"
	}
}

func mapped(m map[string]string, put func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = put(v)
	}
	return out
}

// sayWhatChanged names what was not carried over as it stood.
func (s *Server) sayWhatChanged() {
	f := s.From[0]
	if f.Name != s.Name {
		s.note("was %q in %s", f.Name, f.Host.Title)
	}
	if f.absolute(f.Command) != f.Command || f.absolute(f.Cwd) != f.Cwd {
		s.note("was relative to %s", f.Dir)
	}
	left := map[string]bool{}
	for _, g := range s.From {
		for _, key := range g.Left {
			if !left[key] {
				s.note("%s of %s is not carried over", key, g.Host.Title)
			}
			left[key] = true
		}
	}
}
