package front

import (
	"crypto/rand"
	"net/http"
	"slices"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/gate"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Revisions at which something changed.
const (
	lastWithBatches = "2025-03-26"
	firstPrimed     = "2025-11-25" // an event without data says where a stream begins
)

// legacy handles messages of a host that opens a session with initialize.
func (f *Front) legacy(w http.ResponseWriter, r *http.Request, who who, b *body) {
	var id []byte
	if len(b.requests) > 0 {
		id = b.requests[0].Bytes(b.requests[0].ID)
	}
	if !f.versioned(w, r, id) {
		return
	}
	opening := slices.ContainsFunc(b.requests, func(e wire.Envelope) bool { return e.Text(e.Method) == "initialize" })
	if opening && b.batch {
		fail(w, http.StatusBadRequest, id, wire.CodeInvalid, "initialize must not be in a batch", nil)
		return
	}
	g, known := f.session(r, who)
	switch {
	case opening && !known:
		f.initialize(w, r, who, b)
		return
	case !known && len(r.Header[headerSession]) == 0:
		fail(w, http.StatusBadRequest, id, wire.CodeInvalid, "Mcp-Session-Id is missing: open a session with initialize", nil)
		return
	case !known:
		fail(w, http.StatusNotFound, id, wire.CodeInvalid, noSession, nil)
		return
	}
	g.enter()
	defer g.leave()
	f.hear(w, r, g, b, id)
}

const tooMany = "64 requests of this session are under way, which is the most there may be"

// noSession makes a host open a new one, which is what it is to do.
const noSession = "there is no such session, or no more, or it was opened with other X-Mcpx headers: open one with initialize"

// versioned checks the header in which a host repeats the revision.
func (f *Front) versioned(w http.ResponseWriter, r *http.Request, id []byte) bool {
	version, present, ok := single(r.Header, headerVersion)
	if present && (!ok || !slices.Contains(era.Supported(), version)) {
		fail(w, http.StatusBadRequest, id, wire.CodeInvalid, "MCP-Protocol-Version names no revision that is spoken here", nil)
		return false
	}
	return true
}

// session is the one that a request names. It must be of the same path, and its
// headers must say of the host what they said when it was opened: a host that says
// it stands elsewhere is not served from where it was.
func (f *Front) session(r *http.Request, who who) (*guest, bool) {
	if len(r.Header[headerSession]) != 1 {
		return nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.sessions[r.Header[headerSession][0]]
	return g, g != nil && g.who == who
}

// initialize opens a session.
func (f *Front) initialize(w http.ResponseWriter, r *http.Request, who who, b *body) {
	id := b.requests[0].Bytes(b.requests[0].ID)
	g, err := f.welcome(who, false, false)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, id, wire.CodeInternal, why(err.Msg, err.Hint), nil)
		return
	}
	g.enter()
	defer g.leave()
	key := rand.Text()
	f.mu.Lock()
	f.sessions[key] = g
	f.mu.Unlock()
	w.Header().Set(headerSession, key)
	f.hear(w, r, g, b, id)
	if g.box.revision() == "" { // it was refused, or its host is gone
		g.end()
	}
}

// hear hands messages to a session and sends what comes of it.
func (f *Front) hear(w http.ResponseWriter, r *http.Request, g *guest, b *body, id []byte) {
	version := g.box.revision()
	if b.batch && version > lastWithBatches {
		fail(w, http.StatusBadRequest, id, wire.CodeInvalid, "there are no batches in revision "+version, nil)
		return
	}
	if len(b.requests) == 0 {
		if !g.inlet.push(b.line, r.Context().Done()) {
			closed(w, nil)
			return
		}
		for i := range b.messages {
			if env := &b.messages[i]; env.Kind == wire.Notification && env.Text(env.Method) == "notifications/cancelled" {
				if which, ok := wire.CanonicalID(env.Bytes(env.RequestID)); ok {
					g.box.cancelled(which)
				}
			}
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if g.box.crowded() {
		fail(w, http.StatusTooManyRequests, id, wire.CodeInternal, tooMany, nil)
		return
	}
	s, err := g.box.open(b.requests)
	if err != nil {
		fail(w, http.StatusBadRequest, id, wire.CodeInvalid, err.Error(), nil)
		return
	}
	reader := s.attach()
	if !g.inlet.push(b.line, r.Context().Done()) {
		s.leave(reader)
		closed(w, id)
		return
	}
	f.respond(w, r, s, reader, version >= firstPrimed)
}

// legacyOther handles GET, by which a host listens, and DELETE, by which it ends
// its session.
func (f *Front) legacyOther(w http.ResponseWriter, r *http.Request, who who) {
	if len(r.Header[headerSession]) == 0 { // so would a host of the modern era, or one of 2024
		w.Header().Set("Allow", http.MethodPost)
		gate.Plain(w, http.StatusMethodNotAllowed, "without an Mcp-Session-Id there is only POST")
		return
	}
	if !f.versioned(w, r, nil) {
		return
	}
	g, known := f.session(r, who)
	if !known {
		gate.Plain(w, http.StatusNotFound, noSession)
		return
	}
	if r.Method == http.MethodDelete {
		g.end()
		<-g.ended
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !accepts(r.Header["Accept"], "text/event-stream") {
		gate.Plain(w, http.StatusNotAcceptable, "Accept must name text/event-stream")
		return
	}
	g.enter()
	defer g.leave()
	f.listen(w, r, g)
}

// listen sends what a server says unasked, or goes on with a stream that broke off.
func (f *Front) listen(w http.ResponseWriter, r *http.Request, g *guest) {
	prime := g.box.revision() >= firstPrimed
	if last, present, _ := single(r.Header, headerLast); present {
		s, reader, err := g.box.resume(last)
		if err != nil {
			gate.Plain(w, http.StatusBadRequest, err.Error())
			return
		}
		f.stream(w, r, s, reader, prime)
		return
	}
	s, reader, free := g.box.listen()
	if !free {
		gate.Plain(w, http.StatusConflict, "the session listens already")
		return
	}
	f.stream(w, r, s, reader, prime)
}

// stream is respond for who asked for a stream and nothing else.
func (f *Front) stream(w http.ResponseWriter, r *http.Request, s *stream, reader int, prime bool) {
	reply := &reply{w: w, rc: http.NewResponseController(w), s: s, reader: reader, prime: prime}
	if !reply.send(nil) {
		s.leave(reader)
		return
	}
	reply.run(r.Context().Done())
}
