package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text decodes a raw JSON string. It is false when raw is not one. A lone
// surrogate becomes U+FFFD, as in encoding/json.
func Text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || skipString(raw, 0) != len(raw) {
		return "", false
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body), true
	}
	text := make([]byte, 0, len(body))
	for len(body) > 0 {
		r, n, _ := nextRune(body)
		text = utf8.AppendRune(text, r)
		body = body[n:]
	}
	return string(text), true
}

// plain reports whether every decoder reads the same text out of a checked
// string: a lone surrogate is dropped, kept or replaced, and a NUL ends the
// string or does not (threat T7).
func plain(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return true
	}
	for body := raw[1 : len(raw)-1]; len(body) > 0; {
		r, n, lone := nextRune(body)
		if lone || r == 0 {
			return false
		}
		body = body[n:]
	}
	return true
}

// nextRune decodes the first character of a checked string's inside. lone says
// that it is half of a surrogate pair.
func nextRune(b []byte) (r rune, n int, lone bool) {
	if b[0] != '\\' {
		r, n = utf8.DecodeRune(b)
		return r, n, false
	}
	switch b[1] {
	case 'b':
		return '\b', 2, false
	case 'f':
		return '\f', 2, false
	case 'n':
		return '\n', 2, false
	case 'r':
		return '\r', 2, false
	case 't':
		return '\t', 2, false
	case 'u':
		return nextUnicode(b)
	}
	return rune(b[1]), 2, false
}

func nextUnicode(b []byte) (r rune, n int, lone bool) {
	r = hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6, false
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(b[8:])); pair != utf8.RuneError {
			return pair, 12, false
		}
	}
	return utf8.RuneError, 6, true
}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		r <<= 4
		if c <= '9' {
			r |= rune(c - '0')
		} else {
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

// AppendString appends s as a JSON string, quotes included. Nothing is escaped that need not be,
// so that messages stay readable; invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
