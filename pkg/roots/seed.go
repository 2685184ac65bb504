package roots

import (
	"strings"

	"github.com/dezren39/mcpx/pkg/scope"
)

// Facts are everything that may say where a session works, as it was given:
// paths need not exist. The fields stand in the order in which they count.
type Facts struct {
	Set              []string // a person's set, paths; empty when there is none
	Flag             string   // --cwd
	Var              string   // MCPX_CWD
	Meta             string   // MetaCheckout of the latest request
	Native           []Root   // ParseNative of the host's roots/list
	ProjectDir       string   // CLAUDE_PROJECT_DIR
	WorkspaceFolders string   // WORKSPACE_FOLDER_PATHS; several folders are no directory
	Cwd              string   // the shim's working directory
}

// Seed makes a session's roots from the facts: those of the highest source that
// names a directory (design D10), then what was ignored on the way, with its
// reason. canon gives the canonical spelling of a directory, or an error.
//
// A source that names a directory is never replaced by a weaker one: if its
// first directory is gone, the session has none, since a server in the wrong
// checkout is worse than no server. A host goes on naming a worktree that was
// removed under it. What is no directory at all, another scheme or a bare path
// in the place of a URI, falls through (report C14).
//
// A checkout named in _meta is a top level, while the host may stand below it:
// the first weaker source that names a directory inside it stays primary.
func Seed(f Facts, canon func(string) (string, error)) []Root {
	sources := f.sources()
	var ignored []Root
	for i, s := range sources {
		usable, not, gone := s.resolve(canon)
		ignored = append(ignored, not...)
		switch {
		case gone:
			return ignored
		case len(usable) == 0:
			continue
		case s.origin == Meta:
			usable = narrow(usable[0], sources[i+1:], canon)
		}
		return append(usable, ignored...)
	}
	return ignored
}

// Primary is the directory for scope, rules and config view alike, and who
// named it: the first root that is not ignored; "" when there is none.
func Primary(set []Root) (dir string, origin Origin) {
	for _, r := range set {
		if r.Ignored == "" {
			return r.Path, r.Origin
		}
	}
	return "", ""
}

// Offered are the roots a server may be told of: none that is ignored, and none
// equal to or above home, which would open everything (threat T24). home must
// be canonical.
func Offered(set []Root, home string) []Root {
	var offered []Root
	for _, r := range set {
		if r.Ignored == "" && !scope.Under(home, r.Path) {
			offered = append(offered, r)
		}
	}
	return offered
}

// source is one voice that may name directories.
type source struct {
	origin Origin
	roots  []Root
}

func (f Facts) sources() []source {
	return []source{
		{Set, named(Set, f.Set...)},
		{Flag, named(Flag, f.Flag)},
		{Var, named(Var, f.Var)},
		{Meta, named(Meta, f.Meta)},
		{Native, f.Native},
		{Host, named(Host, f.ProjectDir)},
		{Host, single(f.WorkspaceFolders)},
		{Cwd, named(Cwd, f.Cwd)},
	}
}

// single is WORKSPACE_FOLDER_PATHS if it names one folder. Several stand in it
// with commas between them.
func single(folders string) []Root {
	rs := named(Host, folders)
	if strings.Contains(folders, ",") {
		rs[0].Ignored = "several folders are no one directory"
	}
	return rs
}

func named(o Origin, paths ...string) []Root {
	var rs []Root
	for _, p := range paths {
		if p != "" {
			rs = append(rs, Root{Path: p, Origin: o})
		}
	}
	return rs
}

// resolve parts a source's roots into canonical directories, each once, and
// those that are none, which keep the spelling they came with. gone: the first
// that names a directory names one that is not there.
func (s source) resolve(canon func(string) (string, error)) (usable, ignored []Root, gone bool) {
	seen := map[string]bool{}
	for _, r := range s.roots {
		if r.Ignored != "" {
			ignored = append(ignored, r)
			continue
		}
		dir, err := canon(r.Path)
		if err != nil {
			r.Ignored = err.Error()
			ignored = append(ignored, r)
			gone = gone || len(usable) == 0
			continue
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		usable = append(usable, at(dir, r.Name, s.origin))
	}
	if gone {
		for _, r := range usable {
			r.Ignored = "a root before it is gone"
			ignored = append(ignored, r)
		}
		return nil, ignored, true
	}
	return usable, ignored, false
}

// narrow puts the directory that a weaker source names inside checkout first.
func narrow(checkout Root, weaker []source, canon func(string) (string, error)) []Root {
	for _, s := range weaker {
		usable, _, _ := s.resolve(canon)
		for _, r := range usable {
			if r.Path == checkout.Path || !scope.Under(r.Path, checkout.Path) {
				continue
			}
			return []Root{at(r.Path, "", Meta), checkout}
		}
	}
	return []Root{checkout}
}

func at(dir, name string, o Origin) Root {
	if name == "" {
		name = Name(dir)
	}
	return Root{URI: URI(dir), Name: name, Path: dir, Origin: o}
}
