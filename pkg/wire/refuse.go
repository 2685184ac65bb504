package wire

import "bytes"

// Codes of errors, from JSON-RPC 2.0. A ScanError has one of the first two, the
// others are for answers of our own (design D7).
const (
	CodeParse          = -32700
	CodeInvalid        = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// ScanError is a line that must not be forwarded. ID is the raw id of the
// request to answer, nil when none was found or none may be answered; Code is
// -32700 (not JSON) or -32600 (not a message we will vouch for). ResponseID is
// the raw id of a refused response: the request that waits for it will get no
// other answer. NoID is what is neither a notification nor a response and has no
// id that may be repeated: it is answered under null.
type ScanError struct {
	Code       int
	ID         []byte
	ResponseID []byte
	NoID       bool
	Msg        string
}

func (e *ScanError) Error() string { return e.Msg }

// refused is the error for valid JSON. Who answers it needs an id that is the
// same to every decoder; a fraction may be echoed, if not used.
func (s *scanner) refused() *ScanError {
	err := &ScanError{Code: CodeInvalid, Msg: s.refusal}
	id := s.env.Bytes(s.env.ID)
	if id == nil || s.unsure&(1<<fieldID) != 0 || tokenShape.check(id) != "" || id[0] == 'n' {
		method, hasID := s.seen&(1<<fieldMethod) != 0, s.seen&(1<<fieldID) != 0
		err.NoID = method && hasID || !method && !s.response()
		return err
	}
	if s.response() {
		err.ResponseID = bytes.Clone(id)
	} else {
		err.ID = bytes.Clone(id)
	}
	return err
}

// malformed is the error for what is not JSON. Its id is a guess, good enough
// for the one who sent the line: it costs him only his own request.
func (s *scanner) malformed(why string) *ScanError {
	err := &ScanError{Code: CodeParse, Msg: why}
	id, kind, ok := PeekID(s.env.Line, s.env.Line)
	switch {
	case !ok:
	case kind == Request:
		err.ID = bytes.Clone(id)
	default:
		err.ResponseID = bytes.Clone(id)
	}
	return err
}
