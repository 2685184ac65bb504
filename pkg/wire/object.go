package wire

import (
	"bytes"
	"iter"
	"slices"
)

// Member finds the value of key at the top level of a raw JSON object. Of
// several it is the last, which is the one decoders keep.
func Member(object []byte, key string) (Span, bool) {
	_, value, ok := locate(object, key)
	return value, ok
}

// ReplaceMember returns object with key's value replaced, or added when there is
// none. It leaves the bytes of object alone.
func ReplaceMember(object []byte, key string, value []byte) []byte {
	if _, at, ok := locate(object, key); ok {
		return slices.Concat(object[:at.Start], value, object[at.End:])
	}
	return InsertMembers(object, append(append(AppendString(nil, key), ':'), value...))
}

// DeleteMember returns object without any member called key, and without the
// comma that goes with it.
func DeleteMember(object []byte, key string) []byte {
	for {
		member, _, ok := locate(object, key)
		if !ok {
			return object
		}
		end := skipSpace(object, member.End)
		if end >= len(object) {
			return object
		}
		if object[end] == ',' {
			end = skipSpace(object, end+1)
		} else if before := lastComma(object, member.Start); before > 0 {
			member.Start, end = before, member.End
		}
		object = slices.Concat(object[:member.Start], object[end:])
	}
}

// lastComma is the offset of the comma before object[i], 0 when there is none.
func lastComma(object []byte, i int) int {
	for i--; i > 0 && skipSpace(object[:i+1], i) > i; i-- {
	}
	if i > 0 && object[i] == ',' {
		return i
	}
	return 0
}

// locate finds the last member called key: all of it, and its value.
func locate(object []byte, key string) (member, value Span, ok bool) {
	for name, at := range Members(object) {
		if is(object[name.Start:name.End], key) {
			member, value, ok = Span{name.Start, at.End}, at, true
		}
	}
	return member, value, ok
}

// is compares a raw string with text; the common case decodes nothing.
func is(raw []byte, text string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == text
	}
	decoded, _ := Text(raw)
	return decoded == text
}

func isAny(raw []byte, texts []string) bool {
	for _, text := range texts {
		if is(raw, text) {
			return true
		}
	}
	return false
}

// Members yields where the names (quotes included) and values of a raw JSON
// object lie, in order. It ends early at what is not JSON.
func Members(object []byte) iter.Seq2[Span, Span] {
	return func(yield func(name, value Span) bool) {
		i := skipSpace(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		for i = skipSpace(object, i+1); i < len(object) && object[i] == '"'; i = skipSpace(object, i+1) {
			name := Span{i, skipString(object, i)}
			if name.End < 0 {
				return
			}
			if i = skipColon(object, name.End); i < 0 {
				return
			}
			end := skipValue(object, i, 1)
			if end < 0 || !yield(name, Span{i, end}) {
				return
			}
			if i = skipSpace(object, end); i >= len(object) || object[i] != ',' {
				return
			}
		}
	}
}

// Elements yields where the elements of a raw JSON array lie, in order. It ends
// early at what is not JSON.
func Elements(array []byte) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		i := skipSpace(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for i = skipSpace(array, i+1); i < len(array) && array[i] != ']'; i = skipSpace(array, i+1) {
			end := skipValue(array, i, 1)
			if end < 0 || !yield(Span{i, end}) {
				return
			}
			if i = skipSpace(array, end); i >= len(array) || array[i] != ',' {
				return
			}
		}
	}
}
