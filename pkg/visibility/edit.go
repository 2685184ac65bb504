package visibility

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/wire"
)

// A document is edited as text: what is not edited keeps its bytes, comments and
// order included. One that has errors is not edited.
type document struct {
	text  []byte // without the byte order mark
	root  hujson.Value
	rules Rules
	mark  []byte // the byte order mark, if any
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func open(file string, data []byte) (*document, error) {
	d := &document{text: data}
	if text, ok := bytes.CutPrefix(data, byteOrderMark); ok {
		d.text, d.mark = text, byteOrderMark
	}
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.text = []byte("{\n  \"default\": \"*\"\n}\n")
	}
	rules, problems := Parse(file, d.text)
	for _, p := range problems {
		if !p.Warning {
			return nil, p
		}
	}
	root, _, p := config.Tree(file, d.text)
	if p != nil {
		return nil, *p
	}
	d.root, d.rules = root, rules
	return d, nil
}

func (d *document) done() []byte { return slices.Concat(d.mark, d.text) }

// member is the value of a key of the whole; nil when there is none.
func (d *document) member(key string) *hujson.Value { return member(d.root, key) }

func member(v hujson.Value, key string) *hujson.Value {
	object := v.Value.(*hujson.Object)
	for i, m := range object.Members {
		if name, _ := stringOf(m.Name); name == key {
			return &object.Members[i].Value
		}
	}
	return nil
}

// Set gives the directory of path a row, or another list in the row it has. data
// may be empty: then it begins a document. disk says which rows are for the same
// directory, however they are written.
func Set(file string, data []byte, disk Disk, path string, a Allow) ([]byte, error) {
	if !isPath(path) || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return nil, config.Problem{File: file, Msg: fmt.Sprintf("%q is not a whole path", path), Hint: "begin it with ~/, $HOME/ or /"}
	}
	if err := checkNames(file, a); err != nil {
		return nil, err
	}
	d, err := open(file, data)
	if err != nil {
		return nil, err
	}
	rows := d.rows(disk, path)
	if len(rows) > 0 { // the last is the one that counts
		v := member(d.rule(rows[len(rows)-1]), "servers")
		d.replace(v.StartOffset, v.EndOffset, text(a))
		return d.done(), nil
	}
	row := `{ "path": ` + string(wire.AppendString(nil, path)) + `, "servers": ` + text(a) + ` }`
	if list := d.member("rules"); list != nil {
		d.add(*list, row)
	} else {
		indent := lead(d.text, d.root)
		d.add(d.root, `"rules": [`+indent+step(indent)+row+indent+`]`)
	}
	return d.done(), nil
}

// Unset removes the rows that are for the directory of path. Comments that stand
// with a row go with it.
func Unset(file string, data []byte, disk Disk, path string) ([]byte, error) {
	for removed := false; ; removed = true {
		d, err := open(file, data)
		if err != nil {
			return nil, err
		}
		rows := d.rows(disk, path)
		if len(rows) == 0 && !removed {
			return nil, config.Problem{File: file, Msg: fmt.Sprintf("no rule is for %q", path), Hint: "mcpx rules list shows them"}
		}
		if len(rows) == 0 {
			return data, nil
		}
		d.remove(rows[0])
		data = d.done()
	}
}

// SetDefault changes what is seen where no row is for the directory.
func SetDefault(file string, data []byte, a Allow) ([]byte, error) {
	if err := checkNames(file, a); err != nil {
		return nil, err
	}
	d, err := open(file, data)
	if err != nil {
		return nil, err
	}
	if v := d.member("default"); v != nil {
		d.replace(v.StartOffset, v.EndOffset, text(a))
		return d.done(), nil
	}
	d.add(d.root, `"default": `+text(a))
	return d.done(), nil
}

func checkNames(file string, a Allow) error {
	for _, name := range a.Servers {
		if name == "" || name == "*" || !utf8.ValidString(name) {
			return config.Problem{File: file, Msg: fmt.Sprintf("%q is not the name of a server", name), Hint: `all servers are "*", without a list`}
		}
	}
	return nil
}

// rows are the numbers of those that are for path.
func (d *document) rows(disk Disk, path string) []int {
	var out []int
	dir := disk.Dir(path)
	for i, row := range d.rules.Rows {
		if disk.Dir(row.Path) == dir {
			out = append(out, i)
		}
	}
	return out
}

func (d *document) rule(i int) hujson.Value {
	return d.member("rules").Value.(*hujson.Array).Elements[i]
}

// text is a list of servers as a document has it.
func text(a Allow) string {
	if a.All {
		return `"*"`
	}
	var names []string
	for _, name := range a.Servers {
		names = append(names, string(wire.AppendString(nil, name)))
	}
	return "[" + strings.Join(names, ", ") + "]"
}
