package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"
)

// File is one parsed file; it keeps positions for problems.
type File struct {
	Path   string // as the person knows it
	Real   string // the canonical path, when that is another; files of one real path are one file
	Tier   Tier
	Broken bool // not JSON, or not an object: it says nothing, rather than that there is nothing

	entries  map[string]*entry
	defaults block
	daemon   *RawDaemon
	problems Problems
}

// entry is one server of one file.
type entry struct {
	raw RawServer
	at  map[string]Origin // by field path; "" is the entry itself
	bad bool              // has an error, and is left out
}

// block is the mcpx part of an entry, or the defaults, with positions by key.
type block struct {
	tier Tier
	raw  *RawMcpx
	at   map[string]Origin
}

// Parse reads JSONC (comments, trailing commas, BOM). Problems are gathered;
// one bad server does not unload the others. The File is never nil: one that is
// Broken has no servers.
func Parse(path string, tier Tier, data []byte) (*File, Problems) {
	f := &File{Path: path, Tier: tier, entries: map[string]*entry{}}
	d, root, p := open(path, data)
	if p != nil {
		f.Broken = true
		f.problems = Problems{*p}
		return f, f.Problems()
	}
	f.read(d, root)
	f.problems = d.problems.InOrder()
	return f, f.Problems()
}

// open parses a file that must be one object.
func open(path string, data []byte) (*decoder, hujson.Value, *Problem) {
	d := &decoder{text: newText(path, data), at: map[string]Origin{}}
	root, p := d.text.tree()
	if p == nil && root.Value.Kind() != '{' {
		d.mismatch(root, "", '{')
		p = &d.problems[0]
		d.problems = nil
	}
	return d, root, p
}

// Problems are those of Parse; the caller may change the result.
func (f *File) Problems() Problems { return slices.Clone(f.problems) }

// Names are the servers the file names, bad ones included, sorted.
func (f *File) Names() []string { return sortedKeys(f.entries) }

// Server is the entry of that name as written; nil when there is none or it has
// errors.
func (f *File) Server(name string) *RawServer {
	if e := f.entries[name]; e != nil && !e.bad {
		return &e.raw
	}
	return nil
}

func (f *File) read(d *decoder, root hujson.Value) {
	ours := keysOf(reflect.TypeFor[RawFile]())
	for key, m := range d.members(root, "", ours...) {
		switch {
		case key == "mcpServers":
			f.readServers(d, m.Value)
		case key != "defaults" && key != "daemon":
			d.foreignTopKey(m, ours)
		case f.Tier == Project:
			d.report(m.Name.StartOffset, key, fault{
				msg:  "a project file may set mcpServers only",
				hint: "move it to ~/.config/mcpx/config.json",
			})
		case key == "defaults":
			f.readDefaults(d, m.Value)
		default:
			f.daemon = new(RawDaemon)
			d.value(m.Value, reflect.ValueOf(f.daemon).Elem(), "daemon")
			d.checkDaemon(f.daemon)
		}
	}
}

// foreignTopKey warns of a key that looks like one of ours; the rest belongs to
// other hosts.
func (d *decoder) foreignTopKey(m hujson.ObjectMember, ours []string) {
	if k := DidYouMean(nameOf(m), ours); k != "" {
		d.report(m.Name.StartOffset, nameOf(m), fault{msg: "unknown key", hint: "did you mean " + k + "?", warn: true})
	}
}

func (f *File) readDefaults(d *decoder, v hujson.Value) {
	f.defaults = block{tier: f.Tier, raw: new(RawMcpx), at: d.at}
	d.value(v, reflect.ValueOf(f.defaults.raw).Elem(), "defaults")
	if f.defaults.raw.Secrets != nil {
		d.reportAt("defaults.secrets", fault{
			msg:  "a secret belongs to one server",
			hint: `write it in that server's "mcpx" block`,
		})
		f.defaults.raw.Secrets = nil
	}
	d.checkMcpx(f.defaults.raw, "defaults")
}

func (f *File) readServers(d *decoder, v hujson.Value) {
	names := map[string]Origin{}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		d.mismatch(v, "mcpServers", '{')
		return
	}
	for _, m := range obj.Members {
		name := nameOf(m)
		here := d.text.origin(m.Name.StartOffset)
		problem := spot{at: here, server: name}.problem
		first, twice := names[name]
		switch {
		case !validName(name):
			d.problems = append(d.problems, problem(fault{
				msg:  "not a name for a server",
				hint: "use 1 to 64 of the letters a-z A-Z 0-9 . _ -",
			}))
		case twice:
			d.problems = append(d.problems, problem(fault{
				msg:  fmt.Sprintf("defined twice, here and on line %d", first.Line),
				hint: "rename one, or remove it",
				rule: "duplicate",
			}))
			f.entries[name].bad = true
		default:
			names[name] = here
			f.entries[name] = d.entry(name, here, m.Value)
		}
	}
}

// entry reads one server. Whatever is wrong with it stays within it.
func (d *decoder) entry(name string, here Origin, v hujson.Value) *entry {
	inner := &decoder{text: d.text, server: name, at: map[string]Origin{"": here}, slips: map[string]int{}}
	e := &entry{at: inner.at}
	inner.serverKeys(v, &e.raw)
	if v.Value.Kind() == '{' {
		inner.checkServer(&e.raw)
	}
	e.bad = inner.problems.HasErrors()
	d.problems = append(d.problems, inner.problems...)
	return e
}

func (d *decoder) reportAt(field string, f fault) {
	d.problems = append(d.problems, spot{at: d.at[field], server: d.server, field: field}.problem(f))
}

// validName keeps names printable, short and free of separators (threat T27).
func validName(name string) bool {
	if len(name) < 1 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
