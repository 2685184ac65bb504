package front

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/gate"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// ServeHTTP lets a request through the gate and to its server.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refused := f.gate.Admit(f.port.Asked(r)); refused != nil {
		if refused.Status == http.StatusUnauthorized {
			refused.Msg += ": Authorization: Bearer TOKEN; mcpx status names the file that holds it"
		}
		f.gate.Refuse(w, refused.Status, refused.Msg)
		return
	}
	server, ok := route(r.URL.Path)
	if !ok {
		f.gate.Refuse(w, http.StatusNotFound, "there are /mcp and /mcp/SERVER")
		return
	}
	who, err := identify(server, r.Header)
	if err != nil {
		f.gate.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if r.Method == http.MethodPost {
		f.post(w, r, who)
	} else {
		f.legacyOther(w, r, who)
	}
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// route is the server that a path names, "" for all of them.
func route(path string) (server string, ok bool) {
	if path == "/mcp" {
		return "", true
	}
	server, ok = strings.CutPrefix(path, "/mcp/")
	return server, ok && serverName.MatchString(server)
}

// fail answers with a JSON-RPC error; id may be nil.
func fail(w http.ResponseWriter, status int, id []byte, code int, msg string, data []byte) {
	if data == nil {
		data = upstream.Trouble{Reason: msg}.Data()
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimRight(wire.AppendError(nil, id, code, msg, data), "\n"))
}

// body is what a POST holds, scanned.
type body struct {
	line     []byte // in one line
	batch    bool
	messages []wire.Envelope
	requests []wire.Envelope // those of messages that are
}

// post handles messages of a host.
func (f *Front) post(w http.ResponseWriter, r *http.Request, who who) {
	if !accepts(r.Header["Accept"], "application/json") || !accepts(r.Header["Accept"], "text/event-stream") {
		gate.Plain(w, http.StatusNotAcceptable, "Accept must name application/json and text/event-stream")
		return
	}
	b, ok := f.read(w, r)
	if !ok {
		return
	}
	if isModern(r.Header, &b) {
		f.modern(w, r, who, &b)
	} else {
		f.legacy(w, r, who, &b)
	}
}

// accepts reports whether an Accept header lets a response be of a kind.
func accepts(accept []string, kind string) bool {
	if len(accept) == 0 {
		return true
	}
	group, _, _ := strings.Cut(kind, "/")
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case kind, group + "/*", "*/*":
			return true
		}
	}
	return false
}

// isModern decides by the body: by the revision that it names, or by methods that
// only the modern era has. One that names none is modern when its header is.
func isModern(h http.Header, b *body) bool {
	if b.batch {
		return false
	}
	env := &b.messages[0]
	if !env.ProtocolVersion.Empty() || env.Kind == wire.Request && !era.Has(false, env.Text(env.Method)) {
		return true
	}
	version, _, _ := single(h, headerVersion)
	return version >= era.ModernVersion && env.Text(env.Method) != "initialize" // they are dates
}

// read reads a body and makes one line of it; false when it was answered. It
// reads no body whose end is not told beforehand: what says its length twice, or
// in two ways, is read in two ways.
func (f *Front) read(w http.ResponseWriter, r *http.Request) (b body, ok bool) {
	if r.ContentLength < 0 || len(r.TransferEncoding) > 0 {
		f.gate.Refuse(w, http.StatusLengthRequired, "a request must have a Content-Length")
		return b, false
	}
	if r.ContentLength > stdio.MaxLine {
		f.gate.Refuse(w, http.StatusRequestEntityTooLarge, "a message may have 64 MiB")
		return b, false
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyWait))
	text, err := io.ReadAll(r.Body) // it grows: what is announced need not come
	if err != nil || int64(len(text)) != r.ContentLength {
		f.gate.Refuse(w, http.StatusBadRequest, "the request broke off")
		return b, false
	}
	_ = rc.SetReadDeadline(time.Time{})
	b, err = parse(text)
	if bad, is := errors.AsType[*wire.ScanError](err); is {
		fail(w, http.StatusBadRequest, bad.ID, bad.Code, bad.Msg, nil)
		return b, false
	}
	return b, true
}

// parse makes one line of a JSON text, which it changes, and looks into it. Between
// tokens, and nowhere else, a line end is space (protocol §8). The error is a
// *wire.ScanError.
func parse(text []byte) (b body, err error) {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	b.line = bytes.Trim(text, " \t")
	parts := [][]byte{b.line}
	if b.batch = wire.IsBatch(b.line); b.batch {
		if parts, err = wire.Batch(b.line); err != nil {
			return b, err
		}
	}
	for _, part := range parts {
		env, err := wire.Scan(part)
		if err != nil {
			return b, err
		}
		b.messages = append(b.messages, env)
		if env.Kind == wire.Request {
			b.requests = append(b.requests, env)
		}
	}
	return b, nil
}

// respond sends what comes on a stream; true when that was all of it.
func (f *Front) respond(w http.ResponseWriter, r *http.Request, s *stream, reader int, prime bool) bool {
	gone := r.Context().Done()
	return (&reply{w: w, rc: http.NewResponseController(w), s: s, reader: reader, prime: prime}).run(gone)
}

// closed answers a request whose session ended meanwhile.
func closed(w http.ResponseWriter, id []byte) {
	fail(w, http.StatusServiceUnavailable, id, wire.CodeInternal, "the session ended, or the daemon is stopping", nil)
}

// why is an error to a host in one sentence.
func why(msg, hint string) string { return strings.TrimSuffix(msg+": "+cmp.Or(hint, ""), ": ") }
