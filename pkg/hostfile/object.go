package hostfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
)

// object is the form of the hosts that have an object of entries in a JSON or
// JSONC file. They differ in names and little else.
type object struct {
	path  []string // the keys that lead to the object
	other []string // another path it is found under
	head  map[string]any
	spell spelling
	local bool // "projects" holds more, by directory
}

// spelling is what the keys of an entry are called; "" is a key the host does
// not have.
type spelling struct {
	env, headers  string
	url           []string       // the first is written
	local, remote string         // the value of "type"; "" writes none
	argv          bool           // command holds the arguments, too
	on, off       string         // the key that turns an entry on, or off
	always        map[string]any // written with every local entry
	ignored       []string       // keys that say nothing mcpx needs
}

func (o object) encode(entries []Entry) ([]byte, error) {
	servers := map[string]any{}
	for _, e := range entries {
		servers[e.Name] = o.spell.entry(e)
	}
	doc := map[string]any{}
	for k, v := range o.head {
		doc[k] = v
	}
	at := doc
	for _, key := range o.path[:len(o.path)-1] {
		inner := map[string]any{}
		at[key], at = inner, inner
	}
	at[o.path[len(o.path)-1]] = servers
	return indented(doc)
}

// indented is sorted JSON with a newline at the end.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// oneLine is the entry as it stands in the host's file.
func (s spelling) oneLine(e Entry) string { return jsonLine(s.entry(e)) }

func jsonLine(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("hostfile: what is made of strings does not marshal: " + err.Error())
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (s spelling) entry(e Entry) map[string]any {
	m := map[string]any{}
	set := func(key string, value any, written bool) {
		if key != "" && written {
			m[key] = value
		}
	}
	kind := s.local
	switch {
	case e.URL != "":
		kind = s.remote
		m[s.url[0]] = e.URL
		set(s.headers, e.Headers, len(e.Headers) > 0)
	case s.argv:
		m["command"] = append([]string{e.Command}, e.Args...)
	default:
		m["command"] = e.Command
		m["args"] = append([]string{}, e.Args...)
	}
	if e.URL == "" {
		for key, v := range s.always {
			m[key] = v
		}
		set(s.env, e.Env, len(e.Env) > 0)
		set("cwd", e.Cwd, e.Cwd != "")
	}
	set("type", kind, kind != "")
	set(s.on, !e.Disabled, s.on != "")
	set(s.off, true, e.Disabled)
	return m
}

func (o object) decode(file string, data []byte, dir string) ([]Entry, error) {
	doc, err := parseObject(file, data)
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, at := range [][]string{o.path, o.other} {
		all = append(all, o.spell.entries(dig(doc, at))...)
	}
	if !o.local || dir == "" {
		return all, nil
	}
	for _, e := range o.spell.entries(dig(nearestProject(doc, dir), o.path)) {
		e.Local = true
		all = append(all, e)
	}
	return all, nil
}

// nearestProject is the part of Claude Code's file for dir, or for the nearest
// directory above it that has one.
func nearestProject(doc map[string]any, dir string) map[string]any {
	projects, _ := doc["projects"].(map[string]any)
	for {
		if p, ok := projects[dir].(map[string]any); ok {
			return p
		}
		up := path.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// dig follows keys down; a path of none leads nowhere.
func dig(doc map[string]any, at []string) map[string]any {
	if len(at) == 0 {
		return nil
	}
	for _, key := range at {
		doc, _ = doc[key].(map[string]any)
	}
	return doc
}

// entries reads an object of entries. What is no entry at all is passed over:
// the second opencode format has "servers" where the first has names.
func (s spelling) entries(servers map[string]any) []Entry {
	var all []Entry
	for _, name := range keys(servers) {
		m, ok := servers[name].(map[string]any)
		if !ok {
			continue
		}
		if e := s.read(name, m); e.Command != "" || e.URL != "" {
			all = append(all, e)
		}
	}
	return all
}

func (s spelling) read(name string, m map[string]any) Entry {
	// What is a local entry and what a remote one, command and url tell; only
	// the old SSE transport would be news.
	r := reader{m: m, used: map[string]bool{"type": m["type"] != "sse"}}
	e := Entry{Name: name, Env: r.table(s.env), Headers: r.table(s.headers), Cwd: r.str("cwd")}
	if s.argv {
		if argv := r.list("command"); len(argv) > 0 {
			e.Command, e.Args = argv[0], argv[1:]
		}
		if len(e.Args) == 0 {
			e.Args = nil
		}
	} else {
		e.Command, e.Args = r.str("command"), r.list("args")
	}
	for _, key := range s.url {
		if u := r.str(key); e.URL == "" {
			e.URL = u
		}
	}
	off, on := r.is("disabled", true), r.is("enabled", false)
	e.Disabled = off || on
	for _, key := range s.ignored {
		r.used[key] = true
	}
	e.Left = r.left()
	return e
}

// reader takes values out of an entry and remembers which.
type reader struct {
	m    map[string]any
	used map[string]bool
}

func (r reader) str(key string) string {
	s, ok := r.m[key].(string)
	if ok {
		r.used[key] = true
	}
	return s
}

func (r reader) list(key string) []string {
	list, ok := r.m[key].([]any)
	if !ok {
		return nil
	}
	var out []string
	for _, v := range list {
		s, ok := scalar(v)
		if !ok {
			return nil
		}
		out = append(out, s)
	}
	r.used[key] = true
	return out
}

func (r reader) table(key string) map[string]string {
	table, ok := r.m[key].(map[string]any)
	if !ok || key == "" {
		return nil
	}
	out := map[string]string{}
	for k, v := range table {
		s, ok := scalar(v)
		if !ok {
			return nil
		}
		out[k] = s
	}
	r.used[key] = true
	if len(out) == 0 {
		return nil
	}
	return out
}

// scalar is a value as the host would pass it: numbers and switches are written
// without quotes now and then.
func scalar(v any) (string, bool) {
	switch v.(type) {
	case map[string]any, []any, nil:
		return "", false
	}
	return fmt.Sprint(v), true
}

func (r reader) is(key string, want bool) bool {
	b, ok := r.m[key].(bool)
	if ok {
		r.used[key] = true
	}
	return ok && b == want
}

func (r reader) left() []string {
	var left []string
	for _, key := range keys(r.m) {
		if !r.used[key] {
			left = append(left, key)
		}
	}
	return left
}
