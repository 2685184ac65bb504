package visibility

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

func (d *document) replace(from, to int, with string) {
	d.text = slices.Concat(d.text[:from], []byte(with), d.text[to:])
}

// add puts item last into the object or array v, spaced as the one before it.
func (d *document) add(v hujson.Value, item string) {
	end := v.EndOffset - 1 // the bracket
	last := lastOf(v)
	if last == nil {
		indent := lead(d.text, v)
		inside := bytes.TrimRight(d.text[v.StartOffset+1:end], " \t\r\n") // comments, or nothing
		d.replace(v.StartOffset+1+len(inside), end, indent+item+strings.TrimSuffix(indent, step(indent)))
		return
	}
	space, comma := lead(d.text, v), ","
	tail := bytes.TrimRight(d.text[last.EndOffset:end], " \t\r\n")
	at := last.EndOffset + len(tail)
	if !strings.Contains(space, "\n") && bytes.Contains(tail, []byte("//")) {
		space = "\n" + space
	}
	if last.AfterExtra != nil { // a comma stands there
		d.replace(at, at, space+item+comma)
		return
	}
	d.replace(at, at, space+item)
	d.replace(last.EndOffset, last.EndOffset, comma)
}

func lastOf(v hujson.Value) *hujson.Value {
	switch x := v.Value.(type) {
	case *hujson.Object:
		if n := len(x.Members); n > 0 {
			return &x.Members[n-1].Value
		}
	case *hujson.Array:
		if n := len(x.Elements); n > 0 {
			return &x.Elements[n-1]
		}
	}
	return nil
}

// lead is the space in front of what is put last into v: that in front of its
// last item, if only space is; else a new line, set in once more than v's own.
func lead(text []byte, v hujson.Value) string {
	at := 0
	switch x := v.Value.(type) {
	case *hujson.Object:
		if n := len(x.Members); n > 0 {
			at = x.Members[n-1].Name.StartOffset
		}
	case *hujson.Array:
		if n := len(x.Elements); n > 0 {
			at = x.Elements[n-1].StartOffset
		}
	}
	if at == 0 {
		line := text[bytes.LastIndexByte(text[:v.StartOffset], '\n')+1:]
		own := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		return "\n" + string(own) + step("\n"+string(own))
	}
	before := bytes.TrimRight(text[:at], " \t")
	if len(before) > 0 && before[len(before)-1] == '\n' {
		return "\n" + string(text[len(before):at])
	}
	return " "
}

// step is one step of the indent that a new line has, none on the same line.
func step(space string) string {
	switch {
	case !strings.HasPrefix(space, "\n"):
		return ""
	case strings.HasPrefix(space, "\n\t"):
		return "\t"
	}
	return "  "
}

// remove takes a row out, with the comma and the line break that go with it, the
// comment behind it, and those above it as far as no line is empty.
func (d *document) remove(i int) {
	list := d.member("rules")
	rows := list.Value.(*hujson.Array).Elements
	row, end := rows[i], list.EndOffset-1
	if i+1 < len(rows) {
		end = rows[i+1].StartOffset
	}
	after := row.EndOffset + len(row.AfterExtra)
	comma := d.text[after] == ','
	if comma {
		after++
	} else {
		after = row.EndOffset
	}
	before := row.StartOffset - len(row.BeforeExtra) // behind the bracket, or the comma of the row before
	from, to := before, after
	switch above, line := lineEnd(d.text[before:row.StartOffset]), lineEnd(d.text[after:end]); {
	case above >= 0 && line >= 0: // lines of its own
		from, to = before+above, after+line
		for at := from; ; {
			n := lineEnd(d.text[at:row.StartOffset])
			if n < 0 {
				break
			}
			if at += n; len(bytes.TrimSpace(d.text[at-n:at])) == 0 {
				from = at
			}
		}
	case above >= 0, i == 0:
		from = row.StartOffset
		to += len(d.text[after:end]) - len(bytes.TrimLeft(d.text[after:end], " \t"))
	}
	d.replace(from, to, "")
	if !comma && i > 0 {
		d.replace(before-1, before, "")
	}
}

// lineEnd is where the first line of space and comments ends, behind its line
// feed; -1 when it does not. A comment of several lines is in one.
func lineEnd(extra []byte) int {
	for i := 0; i < len(extra); i++ {
		switch {
		case extra[i] == '\n':
			return i + 1
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			i += 2 + bytes.Index(extra[i+2:], []byte("*/")) + 1
		case extra[i] == '/':
			n := bytes.IndexByte(extra[i:], '\n')
			if n < 0 {
				return -1
			}
			return i + n + 1
		}
	}
	return -1
}
