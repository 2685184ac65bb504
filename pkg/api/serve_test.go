package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadJSON(t *testing.T) {
	tests := []struct {
		name, body string
		want       TrustRequest
		err        *Error
	}{
		{"what is named is taken", ` {"file": "/a", "sha256": "b"} ` + "\n", TrustRequest{File: "/a", SHA256: "b"}, nil},
		{"an unknown member", `{"file":"/a","mode":1}`, TrustRequest{}, &Error{Field: "mode", Msg: "unknown member"}},
		{"a wrong type", `{"file":["/a"]}`, TrustRequest{}, &Error{Field: "file", Msg: "array cannot stand here"}},
		{"two values", `{"file":"/a"}{"file":"/b"}`, TrustRequest{}, &Error{Msg: "more than one JSON value"}},
		{"something behind", `{"file":"/a"} x`, TrustRequest{}, &Error{Msg: "more than one JSON value"}},
		{"nothing", ``, TrustRequest{}, &Error{Msg: "no JSON value"}},
		{"half a value", `{"file":`, TrustRequest{}, &Error{Msg: "not valid JSON: unexpected EOF"}},
		{"no JSON", `file=/a`, TrustRequest{}, &Error{Msg: "not valid JSON: invalid character 'i' in literal false (expecting 'a')"}},
		{"too much", `{"file":"` + strings.Repeat("x", MaxBody) + `"}`, TrustRequest{}, &Error{Msg: "the request is longer than 65536 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got TrustRequest
			err := ReadJSON(httptest.NewRequest("POST", "/v1/trust", strings.NewReader(tt.body)), &got)
			if diff := cmp.Diff(tt.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

// Threat T10: no request describes a server, it names one.
func TestNoRequestTakesAProgram(t *testing.T) {
	for _, request := range []any{&TrustRequest{}, &RestartRequest{}, &RulesRequest{}, &SwitchRequest{}, &RootsRequest{}, &struct{}{}} {
		for _, member := range []string{"command", "args", "env", "url", "headers", "config", "cwd"} {
			body := `{"` + member + `":"x"}`
			err := ReadJSON(httptest.NewRequest("POST", "/", strings.NewReader(body)), request)
			if diff := cmp.Diff(&Error{Field: member, Msg: "unknown member"}, err); diff != "" {
				t.Errorf("%T takes %s (-want +got):\n%s", request, body, diff)
			}
		}
	}
}

func TestWriteErrorSendsItsLength(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, http.StatusConflict, Error{Msg: strings.Repeat("long ", 1000), Hint: "h"})
	if w.Code != 409 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d, header %v", w.Code, w.Header())
	}
	var e Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Hint != "h" {
		t.Errorf("%+v, %v", e, err)
	}
	if got := w.Header().Get("Content-Length"); got != "5022" || w.Body.Len() != 5022 {
		t.Errorf("Content-Length %s for %d bytes", got, w.Body.Len())
	}
}

func TestReadError(t *testing.T) {
	tests := []struct{ name, body, msg, hint string }{
		{"an error", `{"msg":"gone","hint":"look"}`, "gone", "look"},
		{"one of a server's field", `{"server":"gopls","field":"cwd","msg":"gone"}`, `server "gopls": cwd: gone`, ""},
		{"text", "404 page not found\n", "the daemon answered 404: 404 page not found", "it may be of another version; see: mcpx status"},
		{"other JSON", "{}", "the daemon answered 404: {}", "it may be of another version; see: mcpx status"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if r := ReadError(404, []byte(tt.body)); r.Error() != tt.msg || r.Hint() != tt.hint || r.Status != 404 {
				t.Errorf("got %q, hint %q, status %d", r, r.Hint(), r.Status)
			}
		})
	}
}
