package source

import (
	"path/filepath"
	"strings"
)

// entry is what stands at a path, links not followed.
type entry struct {
	exists bool
	link   string // its target, "" for what is no link
}

// spots are names to look for, by the directory they are in.
type spots map[string]map[string]bool

func (s spots) add(dir, name string) {
	if s[dir] == nil {
		s[dir] = map[string]bool{}
	}
	s[dir][name] = true
}

// maxLinks on the way to one file, as in the kernel.
const maxLinks = 40

// stores hold only what never changes: another generation is another path, and
// shows in the link that leads there. Their directories have many thousands of
// entries (report K2).
var stores = []string{"/nix/store", "/gnu/store"}

// trail is where a change of any of the files, or of the way to one, shows: each
// directory on the way, with the name that is followed there. Links are
// followed one by one, since any of them can be swapped (report K3), and where
// the way ends because something is missing, that is what to wait for. What is
// above home is left out: a home that moves takes the daemon along. Files are
// absolute. Pure, but for what look finds.
func trail(files []string, home string, look func(path string) entry) spots {
	s := spots{}
	for _, file := range files {
		s.follow(file, home, look)
	}
	return s
}

func (s spots) follow(file, home string, look func(string) entry) {
	dir, rest := "/", parts(file)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir)
			continue
		}
		path := filepath.Join(dir, name)
		e := look(path)
		passed := e.exists && e.link == "" && len(rest) > 0
		if !inStore(dir) && !(passed && isAbove(dir, home)) {
			s.add(dir, name)
		}
		switch {
		case !e.exists:
			return
		case e.link != "":
			links++
			rest = append(parts(e.link), rest...)
			if filepath.IsAbs(e.link) {
				dir = "/"
			}
		default:
			dir = path
		}
	}
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func inStore(dir string) bool {
	for _, store := range stores {
		if dir == store || strings.HasPrefix(dir, store+"/") {
			return true
		}
	}
	return false
}

// isAbove reports whether dir holds home, at any depth.
func isAbove(dir, home string) bool {
	return dir == "/" || strings.HasPrefix(home, dir+"/")
}
