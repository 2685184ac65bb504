package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// MaxDepth is how deep arrays and objects may be nested in a line (threat T7).
const MaxDepth = 512

// The skip functions check one piece of JSON that starts at b[i] and return the
// offset behind it. A negative result is a fault: ^offset of the byte that does
// not fit, or tooDeep. They do not check UTF-8; Scan does that for the whole line.
const tooDeep = math.MinInt

// skipValue checks the value at b[i], around which depth levels are open.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return ^i
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return skipObject(b, i, depth+1)
	case c == '[':
		return skipArray(b, i, depth+1)
	case c == '-' || c-'0' <= 9:
		return skipNumber(b, i)
	}
	return skipLiteral(b, i)
}

func skipObject(b []byte, i, depth int) int {
	if depth > MaxDepth {
		return tooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i = skipKey(b, i); i < 0 {
			return i
		}
		if i = skipValue(b, i, depth); i < 0 {
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

func skipArray(b []byte, i, depth int) int {
	if depth > MaxDepth {
		return tooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = skipValue(b, i, depth); i < 0 {
			return i
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return ^i
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return ^i
		}
	}
}

// skipKey checks a member's name, the colon and the space around it.
func skipKey(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return ^i
	}
	if i = skipString(b, i); i < 0 {
		return i
	}
	return skipColon(b, i)
}

func skipColon(b []byte, i int) int {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ':' {
		return ^i
	}
	return skipSpace(b, i+1)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString checks the string whose opening quote is b[i]. It looks at eight
// bytes at a time for the three that matter: quote, backslash, control.
func skipString(b []byte, i int) int {
	i++
	for {
		for i+8 <= len(b) {
			if m := stops(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) {
			return ^i
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			if i = skipEscape(b, i); i < 0 {
				return i
			}
		default:
			return ^i
		}
	}
}

// stops has the top bit of each byte of w set that is a quote, a backslash or
// below 0x20. A borrow can set bits too many, but only above a true one, and
// the caller looks at the lowest.
func stops(w uint64) uint64 {
	const ones = 0x0101010101010101
	quote, back := w^(ones*'"'), w^(ones*'\\')
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (back-ones)&^back) & (ones * 0x80)
}

func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return ^len(b)
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		for j := i + 2; j < i+6; j++ {
			if j >= len(b) || !isHex(b[j]) {
				return ^j
			}
		}
		return i + 6
	}
	return ^(i + 1)
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20-'a' <= 5 }

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i < 0 {
		return i
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return i
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits wants one digit at least.
func skipDigits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return ^i
	}
	return i
}

func skipLiteral(b []byte, i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return ^i
}
