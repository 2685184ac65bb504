package main

// The voice of the program. What a command was asked for goes to stdout. All
// else goes to stderr as "mcpx: message" and, on its own line, what to do about
// it. No capitals at the start, no full stop at the end, no Go in messages.
// Nothing that came from a file, a server or a path reaches a terminal raw: one
// record is one line, and what is not printable is shown as an escape (threat T27).

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dezren39/mcpx/pkg/config"
)

// maxLine is the longest line shown, in bytes; a server may write any amount.
const maxLine = 4096

// printer writes lines for a person.
type printer struct {
	w      io.Writer
	utf8   bool // the locale shows more than ASCII
	colour bool
	tty    bool // a person looks at it, at once
}

func (p *program) out() printer { return p.printer(p.stdout) }
func (p *program) err() printer { return p.printer(p.stderr) }

func (p *program) printer(f *os.File) printer {
	tty := isTerminal(f)
	return printer{w: f, utf8: isUTF8(p.getenv), colour: tty && p.getenv("NO_COLOR") == "", tty: tty}
}

// isUTF8 asks the locale, in the order that setlocale(3) does.
func isUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// line writes one record as one line.
func (p printer) line(format string, args ...any) {
	fmt.Fprintln(p.w, p.clean(fmt.Sprintf(format, args...)))
}

// hint says what to do about the line before.
func (p printer) hint(hint string) {
	if hint != "" {
		p.line("   hint: %s", hint)
	}
}

// clean is s as it may stand on a terminal.
func (p printer) clean(s string) string {
	return p.escaped(s, maxLine)
}

// text writes what a server gives a caller: all of it, tabs and lines as they
// are. To a pipe it is UTF-8 in any locale.
func (p printer) text(s string) error {
	p.utf8 = p.utf8 || !p.tty
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		for i, field := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(p.escaped(field, math.MaxInt))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p printer) escaped(s string, most int) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < most; {
		if n := easy(s[i:]); n > 0 {
			n = min(n, most-b.Len())
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		case r < utf8.RuneSelf || p.utf8:
			b.WriteRune(r)
		default:
			b.WriteString(ascii(r))
		}
		i += size
	}
	if b.Len() >= most {
		b.WriteString(" [cut]")
	}
	return b.String()
}

// easy is how many bytes of s, from its beginning, are printable ASCII: nearly all
// of what is printed.
func easy(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return i
		}
	}
	return len(s)
}

// ascii spells our own signs without Unicode, and shows all others as escapes.
func ascii(r rune) string {
	switch r {
	case '·':
		return "-"
	case '…':
		return "..."
	case '→':
		return "->"
	case '•':
		return "*"
	}
	return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
}

// json prints v. Escapes replace what is not printable, so that JSON on a
// terminal is as harmless as a table; to a reader of JSON they mean the same.
func (p printer) json(v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(p.w, escapeJSON(b.String()))
	return err
}

// jsonLine prints v on one line.
func (p printer) jsonLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.w, escapeJSON(string(b))+"\n")
	return err
}

// rawJSON prints JSON as it came, on one line: numbers, names and their order are
// what they were.
func (p printer) rawJSON(raw []byte) error {
	_, err := io.WriteString(p.w, escapeJSON(string(raw))+"\n")
	return err
}

// escapeJSON leaves the meaning alone: of what is not printable, only white space
// can stand outside of a string.
func escapeJSON(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		if n := easy(s); n > 0 {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Write lets others write lines through the printer: each is cleaned. It keeps
// nothing back, so a line should come in one piece.
func (p printer) Write(data []byte) (int, error) {
	for line := range strings.Lines(string(data)) {
		text, newline := strings.CutSuffix(line, "\n")
		text = p.clean(text)
		if newline {
			text += "\n"
		}
		if _, err := io.WriteString(p.w, text); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

// failure ends a command with a message and a hint of its own.
type failure struct {
	msg, hint string
	code      int // 0 means 1
}

func (f *failure) Error() string { return f.msg }

// Hint is what to do about it.
func (f *failure) Hint() string { return f.hint }

// exitCode ends a command that has said all there is to say.
type exitCode int

func (e exitCode) Error() string { return "exit code " + strconv.Itoa(int(e)) }

// report prints err, once, and returns the exit code that belongs to it.
func (p *program) report(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	out := p.err()
	text, more, _ := strings.Cut(err.Error(), "\n")
	out.line("mcpx: %s", text)
	for line := range strings.Lines(more) {
		out.line("   %s", strings.TrimSpace(line)) // indented: it cannot pass for another record
	}
	out.hint(config.HintOf(err))
	if f, ok := errors.AsType[*failure](err); ok && f.code != 0 {
		return f.code
	}
	return 1
}
