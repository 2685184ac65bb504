package config

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxDepth bounds nesting: project files are parsed before anybody trusts them,
// and the parser recurses.
const maxDepth = 64

// text is the source of one file, and where its lines begin.
type text struct {
	path   string
	src    []byte
	starts []int

	// The last position that was counted: files are read from front to back,
	// and a line may be a megabyte.
	last     Origin
	lastByte int
}

// newText takes off a byte order mark (report J8) and ends the last line, so
// that a comment may stand there.
func newText(path string, data []byte) *text {
	src := append(bytes.TrimPrefix(bytes.Clone(data), []byte("\xef\xbb\xbf")), '\n')
	t := &text{path: path, src: src, starts: []int{0}}
	for i, c := range src {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// origin is the position of a byte. Columns count characters, as editors do.
func (t *text) origin(offset int) Origin {
	offset = min(max(offset, 0), len(t.src))
	at := Origin{File: t.path, Line: t.line(offset), Col: 1}
	from := t.starts[at.Line-1]
	if at.Line == t.last.Line && offset >= t.lastByte {
		from, at.Col = t.lastByte, t.last.Col
	}
	at.Col += utf8.RuneCount(t.src[from:offset])
	t.last, t.lastByte = at, offset
	return at
}

func (t *text) line(offset int) int { return sort.SearchInts(t.starts, offset+1) }

// tree parses the whole file.
func (t *text) tree() (hujson.Value, *Problem) {
	if f, at := t.refuse(); f != nil {
		p := spot{at: t.origin(at)}.problem(*f)
		return hujson.Value{}, &p
	}
	v, err := hujson.Parse(t.src)
	if err == nil {
		return v, nil
	}
	p := spot{at: Origin{File: t.path}}.problem(fault{msg: err.Error(), hint: "mend the syntax: JSON with comments and trailing commas"})
	var line, col int
	if _, serr := fmt.Sscanf(p.Msg, "hujson: line %d, column %d:", &line, &col); serr == nil && line <= len(t.starts) {
		at := t.origin(t.starts[line-1] + col - 1)
		p.Line, p.Col = at.Line, at.Col
		_, p.Msg, _ = strings.Cut(p.Msg, ": ")
		_, p.Msg, _ = strings.Cut(p.Msg, ": ")
	}
	switch {
	case strings.HasSuffix(p.Msg, "unexpected EOF"):
		end := t.origin(len(bytes.TrimRight(t.src, " \t\r\n")))
		p.Line, p.Col = end.Line, end.Col
		p.Msg, p.Hint = "the file ends in the middle", "close what is open: a brace, bracket, quote or comment"
	case strings.HasPrefix(p.Msg, "invalid literal"):
		// The parser quotes the literal, which may be a secret (threat T28).
		p.Msg = "neither a string, a number, true, false nor null"
	}
	return v, &p
}

// refuse finds what the parser would explain badly, or not survive.
func (t *text) refuse() (*fault, int) {
	switch {
	case len(bytes.TrimSpace(t.src)) == 0:
		return &fault{msg: "the file is empty", hint: `write { "mcpServers": {} }`}, 0
	case bytes.HasPrefix(t.src, []byte("\xff\xfe")), bytes.HasPrefix(t.src, []byte("\xfe\xff")):
		return &fault{msg: "the file is UTF-16", hint: "save it as UTF-8"}, 0
	}
	if at := t.tooDeep(); at >= 0 {
		return &fault{msg: fmt.Sprintf("nested deeper than %d levels", maxDepth), hint: "no config is that deep"}, at
	}
	return nil, 0
}

// tooDeep is the offset of the bracket that nests too deeply, -1 without one.
func (t *text) tooDeep() int {
	depth := 0
	for i := 0; i < len(t.src); i++ {
		switch t.src[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i = t.stringEnd(i)
		case '/':
			i = t.commentEnd(i)
		}
	}
	return -1
}

func (t *text) stringEnd(i int) int {
	for i++; i < len(t.src) && t.src[i] != '"'; i++ {
		if t.src[i] == '\\' {
			i++
		}
	}
	return i
}

func (t *text) commentEnd(i int) int {
	rest, end := t.src[i:], ""
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(rest, []byte("/*")):
		end = "*/"
	default:
		return i
	}
	n := bytes.Index(rest[2:], []byte(end))
	if n < 0 {
		return len(t.src)
	}
	return i + 2 + n + len(end) - 1
}
