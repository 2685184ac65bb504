package config

import (
	"maps"
	"reflect"
	"strings"
)

// Over is f with a machine's values put over its own: env, headers, secrets and
// the mcpx and daemon blocks key by key, all else as a whole. Each server is
// checked again as it then is. A name that f does not have is left out; f stays
// as it was.
func (m *Machine) Over(f *File) *File {
	out := *f
	out.entries = maps.Clone(f.entries)
	out.problems = f.Problems()
	for name, over := range m.entries {
		base := f.entries[name]
		if base == nil || base.bad || over.bad {
			continue
		}
		e := &entry{
			raw: overlay(reflect.ValueOf(base.raw), reflect.ValueOf(over.raw)).Interface().(RawServer),
			at:  overlayOrigins(base.at, over.at),
		}
		e.raw.Disabled = nil // both have moved it into the mcpx block
		d := &decoder{server: name, at: e.at, slips: map[string]int{}}
		d.checkServer(&e.raw)
		e.bad = d.problems.HasErrors()
		out.entries[name] = e
		out.problems = append(out.problems, d.problems...)
	}
	out.daemon = overlay(reflect.ValueOf(f.daemon), reflect.ValueOf(m.daemon)).Interface().(*RawDaemon)
	out.problems = append(out.problems, m.problems...).InOrder()
	return &out
}

// overlay is base with what over sets. http is one key: an address of one file
// never meets another's auth.
func overlay(base, over reflect.Value) reflect.Value {
	switch {
	case over.Kind() == reflect.Struct:
		out := reflect.New(base.Type()).Elem()
		for i := range out.NumField() {
			out.Field(i).Set(overlay(base.Field(i), over.Field(i)))
		}
		return out
	case over.IsZero():
		return base
	case base.IsZero():
		return over
	case over.Kind() == reflect.Map:
		out := reflect.MakeMap(base.Type())
		for _, m := range []reflect.Value{base, over} {
			for _, key := range m.MapKeys() {
				out.SetMapIndex(key, m.MapIndex(key))
			}
		}
		return out
	case over.Kind() == reflect.Pointer && over.Type().Elem().Kind() == reflect.Struct && over.Type() != reflect.TypeFor[*RawHTTP]():
		out := reflect.New(base.Type().Elem())
		out.Elem().Set(overlay(base.Elem(), over.Elem()))
		return out
	}
	return over
}

// overlayOrigins says where each value now stands. A list is replaced as a
// whole, so the places of its old elements go.
func overlayOrigins(base, over map[string]Origin) map[string]Origin {
	out := map[string]Origin{}
	for field, at := range base {
		list, _, _ := strings.Cut(field, "[")
		if _, replaced := over[list]; !replaced || list == "" {
			out[field] = at
		}
	}
	for field, at := range over {
		if field != "" {
			out[field] = at
		}
	}
	return out
}

// Raw is what the file says of a server as far as it could be read, errors or
// not; nil without one.
func (f *File) Raw(name string) *RawServer {
	if e := f.entries[name]; e != nil {
		return &e.raw
	}
	return nil
}

// At is where a field of a server stands, and the server itself when the field
// is not written.
func (f *File) At(name, field string) Origin {
	e := f.entries[name]
	if e == nil {
		return Origin{}
	}
	if at, ok := e.at[field]; ok {
		return at
	}
	return e.at[""]
}

// RawFile is the file as one that says the same: entries without errors, the
// defaults and the daemon block.
func (f *File) RawFile() RawFile {
	out := RawFile{Servers: map[string]RawServer{}, Defaults: f.defaults.raw, Daemon: f.daemon}
	for name := range f.entries {
		if s := f.Server(name); s != nil {
			one := *s
			one.Disabled = nil // the mcpx block has it
			out.Servers[name] = one
		}
	}
	return out
}
