package wire

import (
	"fmt"
	"unicode/utf8"
)

// IsBatch reports whether the line is a JSON array.
func IsBatch(line []byte) bool {
	i := skipSpace(line, 0)
	return i < len(line) && line[i] == '['
}

// Batch splits a JSON array into its elements' bytes (protocol rule W15). Each
// is then scanned by itself. The error is a *ScanError without an id: JSON-RPC
// answers a broken or empty batch with one error, id null.
func Batch(line []byte) ([][]byte, error) {
	if !utf8.Valid(line) {
		return nil, &ScanError{Code: CodeParse, Msg: "not valid UTF-8"}
	}
	end := skipValue(line, skipSpace(line, 0), 0)
	if end >= 0 {
		end = skipSpace(line, end)
	}
	switch {
	case end == tooDeep:
		return nil, &ScanError{Code: CodeParse, Msg: fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	case end < 0:
		return nil, &ScanError{Code: CodeParse, Msg: fmt.Sprintf("not valid JSON at byte %d", ^end)}
	case end < len(line):
		return nil, &ScanError{Code: CodeParse, Msg: fmt.Sprintf("not valid JSON at byte %d", end)}
	}
	var elements [][]byte
	for at := range Elements(line) {
		elements = append(elements, line[at.Start:at.End:at.End])
	}
	if elements == nil {
		return nil, &ScanError{Code: CodeInvalid, Msg: "not a batch with something in it"}
	}
	return elements, nil
}
