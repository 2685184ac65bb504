package config

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// members goes through an object in the order it is written. A key written
// twice is reported with both lines, and its first value counts (report J9).
// Where other hosts have keys too, ours are named, and theirs may repeat.
func (d *decoder) members(v hujson.Value, field string, ours ...string) iter.Seq2[string, hujson.ObjectMember] {
	return func(yield func(string, hujson.ObjectMember) bool) {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			d.mismatch(v, field, '{')
			return
		}
		first := make(map[string]int, len(obj.Members))
		for _, m := range obj.Members {
			name := nameOf(m)
			if at, twice := first[name]; twice {
				if len(ours) > 0 && !slices.Contains(ours, name) {
					continue
				}
				d.report(m.Name.StartOffset, join(field, name), fault{
					msg:  fmt.Sprintf("set twice, here and on line %d", d.text.line(at)),
					hint: "keep one of the two",
				})
				continue
			}
			first[name] = m.Name.StartOffset
			if !yield(name, m) {
				return
			}
		}
	}
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// keysOf are the keys of a raw type, in the order they are declared.
func keysOf(t reflect.Type) []string {
	keys := make([]string, t.NumField())
	for i := range keys {
		keys[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return keys
}

func fieldNamed(t reflect.Type, key string) (int, bool) {
	for i, k := range keysOf(t) {
		if k == key {
			return i, true
		}
	}
	return 0, false
}
