package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// decoder reads a hujson tree into the raw types. It knows where each value
// stands, reports everything that does not fit, and goes on with the rest.
type decoder struct {
	text     *text
	problems Problems

	server string            // whose entry is being read; "" outside mcpServers
	at     map[string]Origin // where each value of that entry was written, by field
	slips  map[string]int    // the warnings about keys that look like one of ours, by ours
}

func (d *decoder) spot(offset int, field string) spot {
	return spot{at: d.text.origin(offset), server: d.server, field: field}
}

func (d *decoder) report(offset int, field string, f fault) {
	d.problems = append(d.problems, d.spot(offset, field).problem(f))
}

// textual is a type that is written as a string with rules of its own.
type textual interface{ parse(s string) *fault }

// value reads v into the variable that into stands for. A value that does not
// fit is reported and leaves it as it was.
func (d *decoder) value(v hujson.Value, into reflect.Value, field string) {
	if into.Kind() == reflect.Pointer {
		target := reflect.New(into.Type().Elem())
		before := len(d.problems)
		d.value(v, target.Elem(), field)
		// A block with one bad key keeps the others; a bad value is no value.
		if len(d.problems) == before || target.Elem().Kind() == reflect.Struct {
			into.Set(target)
		}
		return
	}
	d.at[field] = d.text.origin(v.StartOffset)
	if special, ok := into.Addr().Interface().(textual); ok {
		d.textual(v, special, field)
		return
	}
	switch into.Kind() {
	case reflect.String:
		d.str(v, into, field)
	case reflect.Bool:
		if lit, ok := d.literal(v, field, 't', 'f'); ok {
			into.SetBool(lit.Bool())
		}
	case reflect.Int:
		d.integer(v, into, field)
	case reflect.Slice:
		d.list(v, into, field)
	case reflect.Map:
		d.mapping(v, into, field)
	case reflect.Struct:
		d.block(v, into, field)
	default:
		panic("config: no way to read a " + into.Type().String())
	}
}

// literal checks that v is of one of the kinds, and reports what it is else.
func (d *decoder) literal(v hujson.Value, field string, kinds ...hujson.Kind) (hujson.Literal, bool) {
	for _, k := range kinds {
		if v.Value.Kind() == k {
			return v.Value.(hujson.Literal), true
		}
	}
	d.mismatch(v, field, kinds[0])
	return nil, false
}

func (d *decoder) mismatch(v hujson.Value, field string, want hujson.Kind) {
	have := v.Value.Kind()
	f := fault{msg: fmt.Sprintf("must be %s, and is %s", kindName(want), kindName(have))}
	switch {
	case have == 'n':
		f.hint = "leave it out"
	case want == '[' && have == '"':
		f.hint = `put it in brackets, one string an argument: ["…", "…"]`
	case want == '"' && have != '{' && have != '[':
		f.hint = "put it in quotes"
	case want == 't':
		f.hint = "write true or false, without quotes"
	case want == '0':
		f.hint = "write a number, without quotes"
	default:
		f.hint = "write " + kindName(want)
	}
	d.report(v.StartOffset, field, f)
}

func kindName(k hujson.Kind) string {
	switch k {
	case '{':
		return "an object {…}"
	case '[':
		return "a list […]"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	}
	return "null"
}

func (d *decoder) textual(v hujson.Value, into textual, field string) {
	lit, ok := d.literal(v, field, '"')
	if !ok {
		return
	}
	if f := into.parse(lit.String()); f != nil {
		d.report(v.StartOffset, field, *f)
	}
}

func (d *decoder) str(v hujson.Value, into reflect.Value, field string) {
	lit, ok := d.literal(v, field, '"')
	if !ok {
		return
	}
	s := lit.String()
	if s == "" && d.required(field) {
		d.report(v.StartOffset, field, fault{msg: "is empty", hint: "fill it in, or leave it out"})
		return
	}
	if words := allowed(into.Type()); words != nil && !slices.Contains(words, s) {
		d.report(v.StartOffset, field, fault{
			msg:  fmt.Sprintf("%q is none of %s", s, strings.Join(words, ", ")),
			hint: hintFor(s, words),
		})
		return
	}
	into.SetString(s)
}

// required reports whether a field of a server makes no sense empty.
func (d *decoder) required(field string) bool { return field == "command" || field == "url" }

// integer reads a count: all numbers of the config are counts, of one or more.
func (d *decoder) integer(v hujson.Value, into reflect.Value, field string) {
	lit, ok := d.literal(v, field, '0')
	if !ok {
		return
	}
	var n int
	if err := json.Unmarshal(lit, &n); err != nil || n < 1 {
		d.report(v.StartOffset, field, fault{
			msg:  fmt.Sprintf("%s is not a whole number of 1 or more", lit),
			hint: "leave it out for the default",
		})
		return
	}
	into.SetInt(int64(n))
}

func (d *decoder) list(v hujson.Value, into reflect.Value, field string) {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		d.mismatch(v, field, '[')
		return
	}
	out := reflect.MakeSlice(into.Type(), len(arr.Elements), len(arr.Elements))
	for i, e := range arr.Elements {
		d.value(e, out.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}
	into.Set(out)
}

func (d *decoder) mapping(v hujson.Value, into reflect.Value, field string) {
	out := reflect.MakeMap(into.Type())
	for name, member := range d.members(v, field) {
		e := reflect.New(into.Type().Elem()).Elem()
		d.value(member.Value, e, join(field, name))
		out.SetMapIndex(reflect.ValueOf(name), e)
	}
	into.Set(out)
}

// block reads an object that is wholly ours into a struct.
func (d *decoder) block(v hujson.Value, into reflect.Value, field string) {
	for name, member := range d.members(v, field) {
		if i, ok := fieldNamed(into.Type(), name); ok {
			d.value(member.Value, into.Field(i), join(field, name))
			continue
		}
		d.report(member.Name.StartOffset, join(field, name), fault{
			msg:  "unknown key",
			hint: hintFor(name, keysOf(into.Type())),
		})
	}
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}
