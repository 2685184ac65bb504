package front

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/remote"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Headers of the protocol, and of mcpx's own.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerSession = "Mcp-Session-Id"
	headerLast    = "Last-Event-Id"

	headerCwd    = "X-Mcpx-Cwd"
	headerOwn    = "X-Mcpx-Session"
	headerParent = "X-Mcpx-Parent"
)

// codeHeaderMismatch is of a request whose headers say other than its body.
const codeHeaderMismatch = -32020

const (
	encodedBefore = "=?base64?"
	encodedAfter  = "?="
)

// decodeValue is what a header's value stands for: itself, or what is written in
// base64 in it. ok is false for what no header may carry (threat T33).
func decodeValue(v string) (text string, ok bool) {
	if inner, encoded := strings.CutPrefix(v, encodedBefore); encoded && strings.HasSuffix(inner, encodedAfter) {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, encodedAfter))
		return string(raw), err == nil && utf8.Valid(raw)
	}
	odd := func(r rune) bool { return r < ' ' || r == 0x7f }
	return v, utf8.ValidString(v) && strings.IndexFunc(v, odd) < 0
}

// single is the value of a header that may occur once; ok is false when it occurs
// more often or cannot be read.
func single(h http.Header, name string) (text string, present, ok bool) {
	values := h[name]
	if len(values) == 0 {
		return "", false, true
	}
	text, ok = decodeValue(values[0])
	return text, true, ok && len(values) == 1
}

// mirrors checks that the headers of a modern request say what its body says, for
// those who look at headers only (protocol §1.5). nil: they do. Decisions are made
// by the body alone.
func mirrors(h http.Header, env *wire.Envelope) *era.Refusal {
	mismatch := func(format string, args ...any) *era.Refusal {
		return &era.Refusal{Code: codeHeaderMismatch, Msg: fmt.Sprintf(format, args...)}
	}
	for _, m := range []struct {
		name   string
		body   string
		wanted bool
	}{
		{headerVersion, env.Text(env.ProtocolVersion), true},
		{headerMethod, env.Text(env.Method), true},
		{headerName, env.Text(named(env)), !named(env).Empty()},
	} {
		text, present, ok := single(h, m.name)
		switch {
		case !ok:
			return mismatch("the header %s cannot be read, or is there twice", m.name)
		case !present && m.wanted:
			return mismatch("the header %s is missing", m.name)
		case present && m.name == headerVersion && env.ProtocolVersion.Empty():
			// that the body says no revision is the graver fault: era.Admit tells it
		case present && (m.wanted || m.name != headerName) && text != m.body:
			return mismatch("the header %s says %q, the body %q", m.name, text, m.body)
		}
	}
	return nil
}

// repeats checks the headers in which a call repeats arguments (Mcp-Param-*), by
// the schema of its tool. nil: they say the same.
func repeats(h http.Header, schema []byte, env *wire.Envelope) *era.Refusal {
	for name, want := range remote.Repeats(schema, env) {
		text, present, ok := single(h, http.CanonicalHeaderKey(name))
		if !ok || present != (want != nil) || present && !alike(text, *want) {
			return &era.Refusal{Code: codeHeaderMismatch, Msg: fmt.Sprintf("the header %s does not say what the argument says", name)}
		}
	}
	return nil
}

// alike reports whether two values are one, as numbers if they are.
func alike(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && x == y
}

// named is what Mcp-Name repeats.
func named(env *wire.Envelope) wire.Span {
	switch env.Text(env.Method) {
	case "tools/call", "prompts/get":
		return env.Name
	case "resources/read":
		return env.URI
	}
	return wire.Span{}
}

// who is which connection a request belongs to, as far as headers say it.
type who struct{ server, session, parent, cwd string }

// identify reads mcpx's own headers. What a header cannot say plainly it says in
// base64, as in the protocol's own.
func identify(server string, h http.Header) (who, error) {
	w := who{server: server}
	for name, to := range map[string]*string{headerCwd: &w.cwd, headerOwn: &w.session, headerParent: &w.parent} {
		text, present, ok := single(h, name)
		switch {
		case !ok:
			return who{}, fmt.Errorf("the header %s cannot be read, or is there twice", name)
		case present && text == "":
			return who{}, fmt.Errorf("the header %s is empty", name)
		case len(text) > 4096:
			return who{}, fmt.Errorf("the header %s is longer than 4096 bytes", name)
		}
		*to = text
	}
	if w.cwd != "" && !path.IsAbs(w.cwd) {
		return who{}, fmt.Errorf("the header %s must be an absolute path, and is %q: it is not expanded here", headerCwd, w.cwd)
	}
	return w, nil
}

// hello is what a `mcpx connect` that was told the same would say.
func (w who) hello() api.Hello {
	return api.Hello{
		API: api.Version, Server: w.server,
		Flags: api.Flags{Cwd: w.cwd, Session: w.session, Parent: w.parent},
	}
}
