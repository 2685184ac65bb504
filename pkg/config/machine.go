package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// RawMachine is what one machine of a fleet has of its own (design §4).
type RawMachine struct {
	Home       string               `json:"home" jsonschema:"The user's home directory there. A leading ~/ in the values below becomes it."`
	RuntimeDir string               `json:"runtimeDir,omitempty" jsonschema:"Where the daemon's sockets are, when not in the usual place."`
	Hosts      []string             `json:"hosts,omitempty" jsonschema:"The hosts that get an entry for each server."`
	Servers    map[string]RawServer `json:"mcpServers,omitempty" jsonschema:"What differs on this machine, field by field."`
	Daemon     *RawDaemon           `json:"daemon,omitempty" jsonschema:"What differs in the daemon block."`
}

// Machine is one parsed machine file.
type Machine struct {
	Path       string
	Home       string
	RuntimeDir string
	Hosts      []string

	entries  map[string]*entry
	daemon   *RawDaemon
	at       map[string]Origin
	problems Problems
}

// ParseMachine reads a machine file (JSONC). It holds changes to servers, so an
// entry need not say what runs. The Machine is never nil.
func ParseMachine(path string, data []byte) (*Machine, Problems) {
	m := &Machine{Path: path, entries: map[string]*entry{}}
	d, root, p := open(path, data)
	if p != nil {
		m.problems = Problems{*p}
		return m, m.Problems()
	}
	m.at = d.at
	m.read(d, root)
	m.checkHome(d)
	m.problems = d.problems.InOrder()
	return m, m.Problems()
}

// Problems are those of ParseMachine; the caller may change the result.
func (m *Machine) Problems() Problems { return slices.Clone(m.problems) }

// Names are the servers the machine changes, sorted.
func (m *Machine) Names() []string { return sortedKeys(m.entries) }

// At is where the entry of that server stands; with server "", a field of the
// machine's own such as "hosts[0]".
func (m *Machine) At(server, field string) Origin {
	if e := m.entries[server]; e != nil {
		return e.at[field]
	}
	return m.at[field]
}

func (m *Machine) read(d *decoder, root hujson.Value) {
	known := keysOf(reflect.TypeFor[RawMachine]())
	for key, member := range d.members(root, "") {
		switch key {
		case "home":
			d.value(member.Value, reflect.ValueOf(&m.Home).Elem(), key)
		case "runtimeDir":
			d.value(member.Value, reflect.ValueOf(&m.RuntimeDir).Elem(), key)
		case "hosts":
			d.value(member.Value, reflect.ValueOf(&m.Hosts).Elem(), key)
		case "mcpServers":
			for name, server := range d.members(member.Value, key) {
				m.entries[name] = d.overlayEntry(name, server)
			}
		case "daemon":
			m.daemon = new(RawDaemon)
			d.value(member.Value, reflect.ValueOf(m.daemon).Elem(), key)
			d.checkDaemon(m.daemon)
		default:
			d.report(member.Name.StartOffset, key, fault{msg: "unknown key", hint: hintFor(key, known)})
		}
	}
}

// overlayEntry reads what a machine changes of one server.
func (d *decoder) overlayEntry(name string, m hujson.ObjectMember) *entry {
	inner := &decoder{text: d.text, server: name, slips: map[string]int{}}
	e := &entry{at: map[string]Origin{"": d.text.origin(m.Name.StartOffset)}}
	inner.at = e.at
	if m.Value.Value.Kind() == 'n' {
		inner.reportAt("", fault{
			msg:  "a machine may not remove a server",
			hint: `turn it off there: "mcpx": { "disabled": true }`,
			rule: "same-servers",
		})
	} else {
		inner.overlayKeys(m.Value, &e.raw)
		inner.checkDisabled(&e.raw)
	}
	e.bad = inner.problems.HasErrors()
	d.problems = append(d.problems, inner.problems...)
	return e
}

// overlayKeys is serverKeys where no other host reads along: a key that is not
// ours changes nothing, and is an error.
func (d *decoder) overlayKeys(v hujson.Value, s *RawServer) {
	into := reflect.ValueOf(s).Elem()
	block, known := keysOf(reflect.TypeFor[RawMcpx]()), keysOf(into.Type())
	for name, member := range d.members(v, "") {
		if i, ok := fieldNamed(into.Type(), name); ok {
			d.value(member.Value, into.Field(i), name)
		} else if slices.Contains(block, name) {
			d.foreignServerKey(member, block, known)
		} else {
			d.report(member.Name.StartOffset, name, fault{msg: "unknown key", hint: hintFor(name, known)})
		}
	}
}

// checkHome wants an absolute home and puts it in place of each leading "~/".
func (m *Machine) checkHome(d *decoder) {
	if !strings.HasPrefix(m.Home, "/") {
		at := d.at["home"]
		if at.Line == 0 {
			at = d.text.origin(0)
		}
		d.problems = append(d.problems, spot{at: at, field: "home"}.problem(fault{
			msg:  "is not an absolute directory",
			hint: `write the user's home directory on this machine: "home": "/home/you"`,
		}))
		return
	}
	m.Home = strings.TrimRight(m.Home, "/")
	m.RuntimeDir = m.expand(m.RuntimeDir)
	if m.RuntimeDir != "" && !strings.HasPrefix(m.RuntimeDir, "/") {
		d.reportAt("runtimeDir", fault{msg: "is not an absolute directory", hint: "write it out from / or ~/"})
	}
	for _, e := range m.entries {
		eachString(reflect.ValueOf(&e.raw).Elem(), m.expand)
	}
	eachString(reflect.ValueOf(&m.daemon).Elem(), m.expand)
}

func (m *Machine) expand(s string) string {
	if s == "~" || strings.HasPrefix(s, "~/") {
		return m.Home + s[1:]
	}
	return s
}

// eachString replaces every string below v.
func eachString(v reflect.Value, replace func(string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(replace(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			eachString(v.Elem(), replace)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			eachString(v.Field(i), replace)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachString(v.Index(i), replace)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(key))
			eachString(one, replace)
			v.SetMapIndex(key, one)
		}
	}
}
