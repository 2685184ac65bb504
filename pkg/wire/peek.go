package wire

import "bytes"

// PeekID looks for the id of a message of which only the first and the last
// bytes were kept, because it was over the cap; ok is false when in doubt. It
// reads whole members from the front, and from the back as long as they are
// simple, since some peers write the id last. The two parts may overlap.
func PeekID(head, tail []byte) (id []byte, kind Kind, ok bool) {
	var p peek
	p.forward(head)
	p.backward(tail)
	if p.id == nil || p.doubt || p.kind == Invalid {
		return nil, Invalid, false
	}
	return p.id, p.kind, true
}

type peek struct {
	id    []byte
	kind  Kind
	doubt bool // two ids, or a name that decoders read differently
}

// forward reads top-level members from the start of the line.
func (p *peek) forward(b []byte) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; i = skipSpace(b, i+1) {
		end := skipString(b, i)
		if end < 0 {
			return
		}
		key := b[i+1 : end-1]
		if i = skipColon(b, end); i < 0 {
			return
		}
		end = skipValue(b, i, 1)
		if end < 0 || end == len(b) {
			// The member that was cut, a number perhaps within: its name is known.
			p.note(key, nil)
			return
		}
		p.note(key, b[i:end])
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// backward reads top-level members from the end of the line: the last brace
// closes the message, so strings and integers before it are members of it.
func (p *peek) backward(b []byte) {
	b = trimSpace(b)
	if len(b) == 0 || b[len(b)-1] != '}' {
		return
	}
	for b = b[:len(b)-1]; ; b = b[:len(b)-1] {
		var value, key []byte
		if b, value = cutScalar(trimSpace(b)); value == nil {
			return
		}
		if b = trimSpace(b); len(b) == 0 || b[len(b)-1] != ':' {
			return
		}
		if b, key = cutString(trimSpace(b[:len(b)-1])); key == nil {
			return
		}
		p.note(key[1:len(key)-1], value)
		if b = trimSpace(b); len(b) == 0 || b[len(b)-1] != ',' {
			return
		}
	}
}

// note takes one member in; value is nil when it was cut off.
func (p *peek) note(key, value []byte) {
	m, exact := find(messageMembers, key)
	if m == nil {
		return
	}
	kind := Invalid
	switch m.field {
	case fieldID:
		p.doubt = p.doubt || !isID(value) || p.id != nil && !bytes.Equal(p.id, value)
		p.id = value
	case fieldMethod, fieldParams:
		kind = Request
	case fieldResult:
		kind = Result
	case fieldError:
		kind = Error
	}
	p.doubt = p.doubt || !exact || kind != Invalid && p.kind != Invalid && p.kind != kind
	if kind != Invalid {
		p.kind = kind
	}
}

// cutScalar splits a string or an integer off the end of b.
func cutScalar(b []byte) (rest, value []byte) {
	if len(b) > 0 && b[len(b)-1] == '"' {
		return cutString(b)
	}
	i := len(b)
	for i > 0 && (b[i-1]-'0' <= 9 || b[i-1] == '-') {
		i--
	}
	if !isInteger(b[i:]) {
		return b, nil
	}
	return b[:i], b[i:]
}

// cutString splits a string off the end of b, if it has no escapes. Before an
// escaped quote stands a backslash, so the quote found is the opening one.
func cutString(b []byte) (rest, value []byte) {
	if len(b) == 0 || b[len(b)-1] != '"' {
		return b, nil
	}
	i := bytes.LastIndexByte(b[:len(b)-1], '"')
	if i < 1 || b[i-1] == '\\' || bytes.IndexByte(b[i:], '\\') >= 0 {
		return b, nil
	}
	return b[:i], b[i:]
}

func trimSpace(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n") }
