package front

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Waits of a response.
const (
	openAfter = 5 * time.Second  // without an answer, a response becomes a stream: its host sees that it is heard
	aliveEach = 15 * time.Second // and is told so again
	writeWait = time.Minute      // for a host to take what is written (threat T33)
)

// reply is one response under way.
type reply struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	s      *stream
	reader int
	prime  bool // events have ids, and the first says where the stream begins
	begun  bool
}

// run sends a stream until it ends, which is true, or its reader is gone: as one
// JSON text when there is nothing but the answer, else as events.
func (r *reply) run(gone <-chan struct{}) bool {
	defer r.s.leave(r.reader)
	quiet := time.NewTimer(openAfter)
	defer quiet.Stop()
	for {
		events, over, mine := r.s.next(r.reader)
		switch {
		case !mine:
			r.s.tell() // it was for the one who is
			return false
		case over && !r.begun && len(events) == 1:
			return r.json(events[0].line)
		case len(events) > 0 || over && !r.begun:
			if !r.send(events) {
				return false
			}
			continue
		case over:
			return true
		}
		select {
		case <-r.s.wake:
		case <-gone:
			return false
		case <-quiet.C:
			if !r.send(nil) || !r.write([]byte(": alive\n\n")) {
				return false
			}
			quiet.Reset(aliveEach)
		}
	}
}

// json sends the one line that is all there is.
func (r *reply) json(line []byte) bool {
	r.header("application/json")
	r.w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	_ = r.rc.SetWriteDeadline(time.Now().Add(writeWait))
	r.w.WriteHeader(r.status(line))
	_, err := r.w.Write(line)
	r.s.wrote(r.reader, len(line))
	return err == nil
}

// status is what the modern era has an error be to those who look at nothing else
// (protocol §1.5).
func (r *reply) status(line []byte) int {
	if !r.s.box.modern {
		return http.StatusOK
	}
	env, err := wire.Scan(line)
	if err != nil || env.Kind != wire.Error {
		return http.StatusOK
	}
	object := env.Bytes(env.Error)
	at, _ := wire.Member(object, "code")
	code, _ := strconv.Atoi(string(object[at.Start:at.End]))
	return statusOf(code)
}

func statusOf(code int) int {
	switch code {
	case wire.CodeMethodNotFound:
		return http.StatusNotFound
	case wire.CodeInvalidParams, wire.CodeInvalid, wire.CodeParse, codeHeaderMismatch, era.CodeMissingCapability, era.CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (r *reply) header(contentType string) {
	h := r.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Content-Type-Options", "nosniff")
}

// send sends events, after the head of the response if that has not been sent.
func (r *reply) send(events []event) bool {
	if !r.begun {
		r.begun = true
		r.header("text/event-stream")
		r.w.Header().Set("X-Accel-Buffering", "no")
		r.w.WriteHeader(http.StatusOK)
		r.s.begin()
		if r.prime && !r.write([]byte("id: "+r.s.here()+"\ndata:\n\n")) {
			return false
		}
		if !r.write(nil) {
			return false
		}
	}
	for _, e := range events {
		if !r.write(r.text(e)) {
			return false
		}
		r.s.wrote(r.reader, len(e.line))
	}
	return true
}

// text is an event as it is written. A CR in a line is space between two tokens,
// and would end the line for who reads events.
func (r *reply) text(e event) []byte {
	text := []byte("event: message\n")
	if !r.s.box.modern {
		text = append(append(append(text, "id: "...), r.s.id(e.n)...), '\n')
	}
	text = append(text, "data: "...)
	line := e.line
	if bytes.IndexByte(line, '\r') >= 0 {
		line = bytes.ReplaceAll(line, []byte("\r"), []byte(" "))
	}
	return append(append(text, line...), "\n\n"...)
}

func (r *reply) write(text []byte) bool {
	_ = r.rc.SetWriteDeadline(time.Now().Add(writeWait))
	if len(text) > 0 {
		if _, err := r.w.Write(text); err != nil {
			return false
		}
	}
	return r.rc.Flush() == nil
}
