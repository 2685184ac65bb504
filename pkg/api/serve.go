package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// MaxBody is the most a request's or an error's body may hold, in bytes
// (threats T17, T33).
const MaxBody = 64 << 10

// WriteError answers with an error; status is 400 and up.
func WriteError(w http.ResponseWriter, status int, e Error) { WriteJSON(w, status, e) }

// WriteJSON answers with v. It sends the length, so that a shim, which knows no
// chunks, can read it.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil { // only a value that never can be JSON: a fault of ours
		panic(fmt.Sprintf("api: %v", err))
	}
	data = append(data, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	w.Write(data) // a caller that is gone needs no answer
}

// ReadJSON reads a request's body, one JSON value of at most MaxBody bytes, into
// v. A member that v does not name is refused: no request can carry a program,
// an argument, an environment or a url past a route that does not know it
// (threat T10). The answer to an error is 400.
func ReadJSON(r *http.Request, v any) *Error {
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	switch {
	case err != nil:
		return &Error{Msg: "the request broke off: " + err.Error()}
	case len(data) > MaxBody:
		return &Error{Msg: fmt.Sprintf("the request is longer than %d bytes", MaxBody)}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return badJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return &Error{Msg: "more than one JSON value"}
	}
	return nil
}

// badJSON says without the words of encoding/json what is wrong.
func badJSON(err error) *Error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &Error{Field: wrong.Field, Msg: wrong.Value + " cannot stand here"}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &Error{Field: strings.Trim(name, `"`), Msg: "unknown member"}
	}
	if errors.Is(err, io.EOF) {
		return &Error{Msg: "no JSON value"}
	}
	return &Error{Msg: "not valid JSON: " + err.Error()}
}
