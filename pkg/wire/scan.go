package wire

import (
	"fmt"
	"unicode/utf8"
)

// Scan validates one line and finds its envelope in one pass, without
// allocating. What it accepts is one JSON object in UTF-8, nested at most
// MaxDepth deep, in which every member that a decision hangs on occurs once,
// spelt plainly, however a decoder reads it (threat T7). A missing "jsonrpc" is
// let through, since servers forget it; a wrong one is not. The error is a
// *ScanError that says what to answer. The envelope refers to line.
func Scan(line []byte) (Envelope, error) {
	s := scanner{env: Envelope{Line: line}}
	if err := s.scan(); err != nil {
		return Envelope{}, err
	}
	return s.env, nil
}

// scanner is the state of one Scan.
type scanner struct {
	env     Envelope
	seen    uint32 // a bit for each field met, by whatever spelling
	unsure  uint32 // those met more than once or misspelt
	refusal string // the first reason not to vouch for the line
}

func (s *scanner) scan() error {
	line := s.env.Line
	if !utf8.Valid(line) {
		return s.malformed("not valid UTF-8")
	}
	i := skipSpace(line, 0)
	if i < len(line) && line[i] == '{' {
		i = s.object(i, messageMembers, 1)
	} else {
		s.refuse("not a JSON object")
		i = skipValue(line, i, 0)
	}
	if i >= 0 {
		if i = skipSpace(line, i); i < len(line) {
			i = ^i
		}
	}
	switch {
	case i == tooDeep:
		return s.malformed(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	case i < 0:
		return s.malformed(fmt.Sprintf("not valid JSON at byte %d", ^i))
	}
	if s.env.Kind = s.kind(); s.refusal != "" {
		return s.refused()
	}
	return nil
}

// object walks the object at line[i], whose members named in among matter.
func (s *scanner) object(i int, among []member, depth int) int {
	b := s.env.Line
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return ^i
		}
		end := skipString(b, i)
		if end < 0 {
			return end
		}
		m, exact := find(among, b[i+1:end-1])
		if i = skipColon(b, end); i < 0 {
			return i
		}
		if i = s.value(i, m, exact, depth); i < 0 {
			return i
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return ^i
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return ^i
		}
	}
}

// value walks the value at line[i] of member m, nil when it does not matter.
func (s *scanner) value(i int, m *member, exact bool, depth int) (end int) {
	b := s.env.Line
	if m == nil {
		return skipValue(b, i, depth)
	}
	if m.inside != nil && i < len(b) && b[i] == '{' {
		end = s.object(i, m.inside, depth+1)
	} else {
		end = skipValue(b, i, depth)
	}
	if end >= 0 {
		s.record(m, exact, Span{i, end})
	}
	return end
}

func (s *scanner) record(m *member, exact bool, at Span) {
	bit := uint32(1) << m.field
	switch {
	case !exact:
		s.unsure |= bit
		s.refuse(`another spelling of "` + m.name + `"`)
	case s.seen&bit != 0 && !m.lax:
		s.unsure |= bit
		s.refuse(`more than one "` + m.name + `"`)
	}
	s.seen |= bit
	raw := s.env.Line[at.Start:at.End]
	if m.field == fieldVersion {
		if string(raw) != `"2.0"` {
			s.refuse(`"jsonrpc" is not "2.0"`)
		}
		return
	}
	if why := m.shape.check(raw); why != "" {
		s.refuse(`"` + m.name + `" ` + why)
	}
	if raw[0] == 'n' && !m.null {
		return
	}
	if to := s.env.span(m.field); to != nil {
		*to = at
	}
}

// check says what is wrong with a value of this shape, "" when nothing is.
func (sh shape) check(raw []byte) string {
	switch c := raw[0]; {
	case sh == anyShape || c == 'n':
		return ""
	case sh == objectShape:
		if c != '{' {
			return "is not an object"
		}
	case c == '"':
		if !plain(raw) {
			return "has a NUL or half a surrogate pair in it"
		}
	case sh == textShape:
		return "is not a string"
	case c != '-' && c-'0' > 9:
		return "is neither a string nor a number"
	}
	return ""
}

// kind decides what the line is, or refuses it.
func (s *scanner) kind() Kind {
	e := &s.env
	if string(e.Bytes(e.Result)) == "null" && !e.Error.Empty() {
		e.Result = Span{} // written out by servers that send every field of a struct
	}
	call := !e.Method.Empty()
	switch {
	case !call && e.Result.Empty() && e.Error.Empty():
		s.refuse("neither a method nor a result nor an error")
	case call && s.response(), !e.Result.Empty() && !e.Error.Empty():
		s.refuse("a request and a response at once, or two responses")
	case call && e.Method.End-e.Method.Start == len(`""`):
		s.refuse(`"method" is empty`)
	}
	id := e.Bytes(e.ID)
	switch {
	case call && id == nil:
		return Notification
	case string(id) == "null" && !e.Error.Empty():
		e.ID = Span{}
		return Error
	case id == nil:
		s.refuse("a response without an id")
	case !isID(id):
		s.refuse(`"id" is neither a string nor an integer`) // null, or a fraction
	}
	switch {
	case call:
		return Request
	case !e.Error.Empty():
		return Error
	}
	return Result
}

func (s *scanner) response() bool { return s.seen&(1<<fieldResult|1<<fieldError) != 0 }

func (s *scanner) refuse(why string) {
	if s.refusal == "" {
		s.refusal = why
	}
}
