// Package visibility decides which servers a session sees: by the directory it
// works in, by rules that a person wrote, and by a switch for the session alone
// (design D9). It takes servers away and never adds one. It reads no file and
// asks no file system: what a path is called is given to it.
package visibility

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
)

// Allow is a list of servers, or all there are.
type Allow struct {
	All     bool
	Servers []string
}

// Has reports whether the server is allowed.
func (a Allow) Has(server string) bool { return a.All || slices.Contains(a.Servers, server) }

// String is "all", "none", or the names.
func (a Allow) String() string {
	switch {
	case a.All:
		return "all"
	case len(a.Servers) == 0:
		return "none"
	}
	return strings.Join(a.Servers, ", ")
}

// MarshalJSON is a list of servers as a document has it: "*", or the names.
func (a Allow) MarshalJSON() ([]byte, error) { return []byte(text(a)), nil }

// UnmarshalJSON reads it.
func (a *Allow) UnmarshalJSON(data []byte) error {
	*a = Allow{}
	if string(data) == `"*"` {
		a.All = true
		return nil
	}
	if json.Unmarshal(data, &a.Servers) != nil {
		return errors.New(`is neither "*" nor a list of servers`)
	}
	return nil
}

// Row is one rule: what a directory and everything under it may see.
type Row struct {
	Path  string // as written
	Allow Allow
	At    config.Origin
}

// Rules is a rules document.
type Rules struct {
	Default Allow // of a directory that no row is for
	Rows    []Row
	Named   []Name // the servers, wherever they are written
}

// Name is a server's name where it is written.
type Name struct {
	Server string
	Field  string // as in config.Problem
	At     config.Origin
	Row    int // that it is in; -1: the default
}

// None are the rules where there is no document: everything is seen.
func None() Rules { return Rules{Default: Allow{All: true}} }

// Broken are the rules in place of a document that cannot be read: as if there
// were none, or closed, when nothing is seen.
func Broken(closed bool) Rules { return Rules{Default: Allow{All: !closed}} }

// Unknown warns of names that no server has: a slip, or a server that is gone.
// known are those that a row may name; row -1 is the default.
func (r Rules) Unknown(known func(row int) []string) config.Problems {
	var out config.Problems
	var servers []string
	at := -2
	for _, n := range r.Named {
		if n.Row != at {
			at, servers = n.Row, known(n.Row)
		}
		if slices.Contains(servers, n.Server) {
			continue
		}
		out = append(out, config.Problem{
			Warning: true, File: n.At.File, Line: n.At.Line, Col: n.At.Col,
			Field: n.Field, Msg: fmt.Sprintf("no server is called %q", n.Server), Hint: didYouMean(n.Server, servers),
		})
	}
	return out
}

// didYouMean is the hint for a name that no server has.
func didYouMean(name string, servers []string) string {
	if near := config.DidYouMean(name, servers); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are: " + Allow{Servers: servers}.String()
}

// Disk is what rules have to know of the machine they are read on. Spell gives a
// directory the one spelling that all paths are compared in: links followed, and
// case as the file system has it. It leaves what it does not know as it is.
type Disk struct {
	Home  string
	Spell func(dir string) string
}

// Written is the directory that a row names, links on the way to it and all.
// Either slash separates; ~ and $HOME are the home directory.
func (d Disk) Written(path string) string {
	dir := strings.ReplaceAll(path, `\`, "/")
	if rest, ok := underHome(dir); ok {
		dir = d.Home + rest
	}
	return dir
}

// Dir is the directory that a row is for.
func (d Disk) Dir(written string) string {
	dir := d.Written(written)
	if d.Spell != nil {
		dir = d.Spell(dir)
	}
	return path.Clean(dir)
}

// underHome is what follows ~ or $HOME, a slash first or nothing.
func underHome(dir string) (rest string, ok bool) {
	for _, home := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(dir, home); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

// isPath reports whether a row can be for what is written: from the root, from a
// drive, or from home.
func isPath(written string) bool {
	dir := strings.ReplaceAll(written, `\`, "/")
	if _, ok := underHome(dir); ok || strings.HasPrefix(dir, "/") {
		return true
	}
	return len(dir) > 2 && dir[1] == ':' && dir[2] == '/' && (dir[0]|0x20)-'a' < 26
}

// Table is rules on a machine, ready to be asked.
type Table struct {
	rules    Rules
	disk     Disk
	rows     map[string]int // by directory
	shadowed config.Problems
}

// On makes rules ready for a machine. Of rows for one directory the last counts.
func (r Rules) On(d Disk) *Table {
	t := &Table{rules: r, disk: d, rows: map[string]int{}}
	for i, row := range r.Rows {
		dir := d.Dir(row.Path)
		if before, ok := t.rows[dir]; ok {
			old := r.Rows[before]
			t.shadowed = append(t.shadowed, config.Problem{
				Warning: true, File: old.At.File, Line: old.At.Line, Col: old.At.Col,
				Field: fmt.Sprintf("rules[%d]", before), Msg: "has no effect: a later row is for the same directory",
				Hint: fmt.Sprintf("remove it, or the one on line %d", row.At.Line),
			})
		}
		t.rows[dir] = i
	}
	return t
}

// Shadowed warns of rows that never decide.
func (t *Table) Shadowed() config.Problems { return t.shadowed }

// Match is what dir may see, and the row that says so, -1 when that is the
// default: of the rows for dir or a directory above it, the longest path. dir is
// in the spelling of Disk; "" is no directory.
func (t *Table) Match(dir string) (a Allow, row int) {
	for ok := dir != ""; ok; dir, ok = parent(dir) {
		if i, ok := t.rows[dir]; ok {
			return t.rules.Rows[i].Allow, i
		}
	}
	return t.rules.Default, -1
}

func parent(dir string) (string, bool) {
	i := strings.LastIndexByte(dir, '/')
	switch {
	case i < 0, dir == "/":
		return "", false
	case i == 0:
		return "/", true
	}
	return dir[:i], true
}
