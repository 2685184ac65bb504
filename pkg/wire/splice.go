package wire

import "slices"

// Edit replaces the bytes of At by With. Edits may come in any order and must
// not overlap. The zero Span is an absent member: its edit does nothing. Any
// other empty Span inserts.
type Edit struct {
	At   Span
	With []byte
}

// Append appends the line, edits applied, and a newline to dst. Up to eight edits
// are sorted without allocating.
func (e *Envelope) Append(dst []byte, edits ...Edit) []byte {
	var few [8]Edit
	sorted := append(few[:0], edits...)
	sortEdits(sorted)
	from := 0
	for i := range sorted {
		at := sorted[i].At
		if at == (Span{}) {
			continue
		}
		dst = append(dst, e.Line[from:at.Start]...)
		dst = append(dst, sorted[i].With...)
		from = at.End
	}
	dst = append(dst, e.Line[from:]...)
	return append(dst, '\n')
}

// Drop adds to edits those that take the members called keys out of the object
// at s, commas included. They meet no edit of what stays.
func (e *Envelope) Drop(edits []Edit, s Span, keys ...string) []Edit {
	object := e.Bytes(s)
	add := func(from, to int) { edits = append(edits, Edit{At: Span{s.Start + from, s.Start + to}}) }
	gone, kept := Span{}, 0 // members side by side that go; the end of the last that stays
	for name, value := range Members(object) {
		switch {
		case isAny(object[name.Start:name.End], keys):
			if gone.Empty() {
				gone.Start = name.Start
			}
			gone.End = value.End
			continue
		case !gone.Empty():
			add(gone.Start, name.Start)
			gone = Span{}
		}
		kept = value.End
	}
	if !gone.Empty() && kept > 0 {
		gone.Start = kept
	}
	if !gone.Empty() {
		add(gone.Start, gone.End)
	}
	return edits
}

// sortEdits is an insertion sort: edits are few, and slices.SortFunc would move
// the caller's array to the heap.
func sortEdits(edits []Edit) {
	for i := 1; i < len(edits); i++ {
		for j := i; j > 0 && edits[j].At.Start < edits[j-1].At.Start; j-- {
			edits[j], edits[j-1] = edits[j-1], edits[j]
		}
	}
}

// InsertMembers returns object with members (raw `"k":v,…`, without braces)
// added before its closing brace. Null counts as {}. Without members the result
// is object itself; what is not an object is returned as it is.
func InsertMembers(object, members []byte) []byte {
	if len(members) == 0 {
		return object
	}
	if string(object) == "null" {
		object = []byte("{}")
	}
	end := len(object) - 1
	for end > 0 && object[end] != '}' {
		end--
	}
	last := end - 1
	for last >= 0 && skipSpace(object[:last+1], last) > last {
		last--
	}
	if last < 0 {
		return object
	}
	var comma []byte
	if object[last] != '{' {
		comma = []byte{','}
	}
	return slices.Concat(object[:end], comma, members, object[end:])
}
