package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// MaxBody is the most a request's or an error's body may hold, in bytes
// (threats T17, T33).
const MaxBody = 64 << 10

// WriteJSON answers 200 with v.
func WriteJSON(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

// WriteError answers with an error; status is 400 and up.
func WriteError(w http.ResponseWriter, status int, e Error) { write(w, status, e) }

// write sends the length, so that a shim, which knows no chunks, can read it.
func write(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil { // only a value that never can be JSON: a fault of ours
		panic(fmt.Sprintf("api: %v", err))
	}
	data = append(data, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.WriteHeader(status)
	w.Write(data) // a caller that is gone needs no answer
}

// ReadJSON reads one JSON value of at most MaxBody bytes into v. A member that v
// does not name is refused: no request can carry a program, an argument, an
// environment or a url past a route that does not know it (threat T10). The
// error is a *Refusal, its Status set.
func ReadJSON(r io.Reader, v any) error {
	data, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "", "the request broke off: "+err.Error())
	case len(data) > MaxBody:
		return refuse(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the request is longer than %d bytes", MaxBody))
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return badJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "", "more than one JSON value")
	}
	return nil
}

// badJSON says without the words of encoding/json what is wrong.
func badJSON(err error) *Refusal {
	const unknown = "json: unknown field "
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refuse(http.StatusBadRequest, wrong.Field, "a "+wrong.Value+" cannot stand here")
	}
	if name, ok := strings.CutPrefix(err.Error(), unknown); ok {
		return refuse(http.StatusBadRequest, strings.Trim(name, `"`), "unknown member")
	}
	if errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "", "no JSON value")
	}
	return refuse(http.StatusBadRequest, "", "not valid JSON: "+err.Error())
}

func refuse(status int, field, msg string) *Refusal {
	return &Refusal{Status: status, Err: Error{Field: field, Msg: msg}}
}
