package visibility

import (
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/dezren39/mcpx/pkg/config"
)

const (
	example     = `{ "default": "*", "rules": [ { "path": "~/src", "servers": ["NAME"] } ] }`
	exampleRule = `{ "path": "~/src", "servers": ["NAME"] }`
)

// Parse reads a rules document: JSON with comments and trailing commas. Rules
// that have errors among their Problems are not to be used: what takes their
// place is for the caller to know (Broken).
func Parse(file string, data []byte) (Rules, config.Problems) {
	root, place, p := config.Tree(file, data)
	if p != nil {
		if p.Msg == "the file is empty" {
			p.Hint = "write " + example
		}
		return Broken(true), config.Problems{*p}
	}
	r := reader{place: place, rules: None()}
	r.document(root)
	return r.rules, r.problems
}

type reader struct {
	place    func(offset int) config.Origin
	rules    Rules
	problems config.Problems
}

func (r *reader) report(v hujson.Value, field, msg, hint string) {
	at := r.place(v.StartOffset)
	r.problems = append(r.problems, config.Problem{File: at.File, Line: at.Line, Col: at.Col, Field: field, Msg: msg, Hint: hint})
}

func (r *reader) wrongKind(v hujson.Value, field string) {
	r.report(v, field, "is not of the right kind", "write "+example)
}

func (r *reader) document(root hujson.Value) {
	members, ok := r.members(root, "", "default", "rules")
	if !ok {
		return
	}
	if v, ok := members["default"]; ok {
		r.rules.Default = r.allow(v, "default", -1)
	}
	v, ok := members["rules"]
	if !ok {
		return
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		r.wrongKind(v, "rules")
		return
	}
	for i, el := range list.Elements {
		r.row(el, i)
	}
}

func (r *reader) row(v hujson.Value, number int) {
	field := fmt.Sprintf("rules[%d]", number)
	members, ok := r.members(v, field+".", "path", "servers")
	if !ok {
		return
	}
	row := Row{At: r.place(v.StartOffset)}
	for _, key := range []string{"path", "servers"} {
		if _, ok := members[key]; !ok {
			r.report(v, field+"."+key, "is missing", "a rule is "+exampleRule)
		}
	}
	if v, ok := members["path"]; ok {
		row.Path = r.path(v, field+".path")
	}
	if v, ok := members["servers"]; ok {
		row.Allow = r.allow(v, field+".servers", len(r.rules.Rows))
	}
	r.rules.Rows = append(r.rules.Rows, row)
}

func (r *reader) path(v hujson.Value, field string) string {
	text, ok := stringOf(v)
	switch {
	case !ok:
		r.wrongKind(v, field)
	case text == "":
		r.report(v, field, "is empty", "name a directory: ~/src")
	case !isPath(text):
		r.report(v, field, "is not a whole path", "begin it with ~/, $HOME/ or /")
	}
	return text
}

// allow reads "*" or a list of names.
func (r *reader) allow(v hujson.Value, field string, row int) Allow {
	if text, ok := stringOf(v); ok && text == "*" {
		return Allow{All: true}
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		r.wrongKind(v, field)
		return Allow{}
	}
	var a Allow
	for i, el := range list.Elements {
		name, ok := stringOf(el)
		field := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case !ok:
			r.wrongKind(el, field)
			continue
		case name == "*":
			r.report(el, field, "is not a name", `all servers are "*", without a list`)
		}
		a.Servers = append(a.Servers, name)
		r.rules.Named = append(r.rules.Named, Name{name, field, r.place(el.StartOffset), row})
	}
	return a
}

// members are the values of an object by their keys, each of which must be known
// and there once. ok is false when v is not an object.
func (r *reader) members(v hujson.Value, prefix string, known ...string) (values map[string]hujson.Value, ok bool) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		field := prefix
		if field != "" {
			field = field[:len(field)-1]
		}
		r.wrongKind(v, field)
		return nil, false
	}
	values = map[string]hujson.Value{}
	for _, m := range object.Members {
		key, _ := stringOf(m.Name)
		if _, twice := values[key]; twice {
			r.report(m.Value, prefix+key, "set twice", "keep one of the two")
			continue
		}
		if values[key] = m.Value; key != known[0] && key != known[1] {
			hint := "known here: default, rules; in a rule: path, servers"
			if near := config.DidYouMean(key, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.report(m.Value, prefix+key, "unknown key", hint)
		}
	}
	return values, true
}

func stringOf(v hujson.Value) (string, bool) {
	if text, ok := v.Value.(hujson.Literal); ok && text.Kind() == '"' {
		return text.String(), true
	}
	return "", false
}
