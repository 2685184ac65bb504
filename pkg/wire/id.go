package wire

import (
	"bytes"
	"unicode/utf8"
)

// CanonicalID is an id as a map key: 1 and "1" differ, "A" and "\u0041" do not,
// -0 is 0. Integers of any size keep their digits. ok is false for what is not
// an id: a fraction, an exponent, null, or a string that decoders disagree on.
func CanonicalID(raw []byte) (string, bool) {
	if !isID(raw) || !utf8.Valid(raw) {
		return "", false
	}
	switch {
	case string(raw) == "-0":
		return "0", true
	case raw[0] != '"':
		return string(raw), true
	case bytes.IndexByte(raw, '\\') < 0:
		// What the quote and the decoded text would make, in one allocation.
		return string(raw[:len(raw)-1]), true
	case !plain(raw):
		return "", false
	}
	text, _ := Text(raw)
	return `"` + text, true
}

// isID reports whether raw is a string or an integer as JSON writes them.
func isID(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	if raw[0] == '"' {
		return skipString(raw, 0) == len(raw)
	}
	return isInteger(raw)
}

func isInteger(raw []byte) bool {
	if len(raw) > 0 && raw[0] == '-' {
		raw = raw[1:]
	}
	if len(raw) == 0 || raw[0] == '0' && len(raw) > 1 {
		return false
	}
	return skipDigits(raw, 0) == len(raw)
}

// Uint reads an id that was made by counting: digits, or digits in quotes, since
// some servers echo 1 as "1" (hosts §5). It allocates nothing.
func Uint(raw []byte) (uint64, bool) {
	if n := len(raw); n > 2 && raw[0] == '"' && raw[n-1] == '"' {
		raw = raw[1 : n-1]
	}
	// Nineteen digits always fit.
	if len(raw) > 19 || !isInteger(raw) || raw[0] == '-' {
		return 0, false
	}
	var n uint64
	for _, c := range raw {
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
