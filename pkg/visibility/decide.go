package visibility

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is whether a session sees one server.
type Verdict struct {
	Server  string
	Visible bool
}

// Decision is what a session sees and why. Lists show it, and every later
// request asks it again.
type Decision struct {
	Dir      string
	Rule     string // the path of the row that is for Dir, as written; "" when the default is
	Row      int    // its number, -1
	Allow    Allow  // what that says
	Override Override
	Servers  []Verdict // in the order they were given
	Missing  []string  // names in Allow that no server has
}

// Decide says what a session in dir sees of servers, which are those that it
// could have: nothing here adds one. An Override that is set outranks the rules.
func (t *Table) Decide(servers []string, dir string, o Override) Decision {
	d := Decision{Dir: dir, Override: o, Servers: make([]Verdict, len(servers))}
	if d.Allow, d.Row = t.Match(dir); d.Row >= 0 {
		d.Rule = t.rules.Rows[d.Row].Path
	}
	for i, s := range servers {
		d.Servers[i] = Verdict{s, o.sees(s, d.Allow)}
	}
	for _, name := range d.Allow.Servers {
		if !slices.Contains(servers, name) && !slices.Contains(d.Missing, name) {
			d.Missing = append(d.Missing, name)
		}
	}
	return d
}

// Allows reports whether the session sees the server. One that it could not have
// is not seen.
func (d Decision) Allows(server string) bool {
	return slices.Contains(d.Servers, Verdict{server, true})
}

// Visible are the names of the servers seen.
func (d Decision) Visible() []string { return d.named(true) }

// Hidden are the names of the others.
func (d Decision) Hidden() []string { return d.named(false) }

func (d Decision) named(visible bool) []string {
	var names []string
	for _, v := range d.Servers {
		if v.Visible == visible {
			names = append(names, v.Server)
		}
	}
	return names
}

// Why is what decided, in words: "rule ~/src", "default", "switch: only gopls".
func (d Decision) Why() string {
	switch {
	case d.Override.Set:
		return "switch: " + d.Override.String()
	case d.Row >= 0:
		return "rule " + d.Rule
	}
	return "default"
}

// HiddenBy is what a server is that the session does not see, in words.
func (d Decision) HiddenBy() string {
	switch {
	case d.Override.Set:
		return "hidden by switch"
	case d.Row >= 0:
		return "hidden by rule " + d.Rule
	}
	return "hidden by rule default"
}

// String is the decision on one line, for the log.
func (d Decision) String() string {
	line := d.Why() + ": sees " + Allow{Servers: d.Visible()}.String()
	if hidden := d.Hidden(); len(hidden) > 0 {
		line += "; hidden: " + strings.Join(hidden, ", ")
	}
	if len(d.Missing) > 0 && !d.Override.Set {
		line += "; unknown: " + strings.Join(d.Missing, ", ")
	}
	return line
}

// Badge is the decision in a word or two, for a status line: "all", "none",
// "gopls", "gopls +1"; behind it * when a switch is set, and ! when the rule names
// a server that there is not, else • when one that is allowed is dead.
func (d Decision) Badge(dead bool) string {
	seen := d.Visible()
	badge := ""
	switch {
	case len(seen) == 0:
		badge = "none"
	case len(seen) == len(d.Servers) && (d.Override.Set || d.Allow.All):
		badge = "all"
	case len(seen) == 1:
		badge = seen[0]
	default:
		badge = fmt.Sprintf("%s +%d", seen[0], len(seen)-1)
	}
	if d.Override.Set {
		badge += "*"
	}
	switch {
	case len(d.Missing) > 0:
		badge += "!"
	case dead:
		badge += "•"
	}
	return badge
}

// Preview is what sessions in dirs would see; without dirs, what one would that
// no row is for, and one in the directory of each row, in the order of the rows.
func (t *Table) Preview(servers []string, dirs ...string) []Decision {
	if len(dirs) == 0 {
		dirs = []string{""}
		for _, row := range t.rules.Rows {
			dirs = append(dirs, t.disk.Dir(row.Path))
		}
	}
	var out []Decision
	seen := map[string]bool{}
	for _, dir := range dirs {
		if !seen[dir] {
			out = append(out, t.Decide(servers, dir, Override{}))
		}
		seen[dir] = true
	}
	return out
}

// Widened are the servers that after shows and before does not: what needs a
// person's consent, where taking away needs none (design D11).
func Widened(before, after Decision) []string {
	return slices.DeleteFunc(after.Visible(), before.Allows)
}
