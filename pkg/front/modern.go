package front

import (
	"net/http"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/wire"
)

// modern handles a message of the era without sessions: each request is answered
// on its own, by a connection of its own unless it names a session.
func (f *Front) modern(w http.ResponseWriter, r *http.Request, who who, b *body) {
	env := &b.messages[0]
	id := env.Bytes(env.ID)
	if env.Kind == wire.Result || env.Kind == wire.Error {
		fail(w, http.StatusBadRequest, nil, wire.CodeInvalid, "in this revision a client sends no responses", nil)
		return
	}
	if bad := mirrors(r.Header, env); bad != nil {
		fail(w, http.StatusBadRequest, id, bad.Code, bad.Msg, bad.Data)
		return
	}
	if env.Kind == wire.Notification {
		f.mu.Lock()
		g := f.named[who]
		f.mu.Unlock()
		if g != nil && who.session != "" {
			g.inlet.push(b.line, r.Context().Done())
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	g, s, own, err := f.place(who, b)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, id, wire.CodeInternal, why(err.Msg, err.Hint), nil)
		return
	}
	g.enter()
	defer g.leave()
	if env.Text(env.Method) == "tools/call" {
		if bad := repeats(r.Header, g.host.ToolSchema(env.Text(env.Name)), env); bad != nil {
			g.box.forget(s)
			if own && !f.isParked(g) {
				g.end()
			}
			fail(w, http.StatusBadRequest, id, bad.Code, bad.Msg, bad.Data)
			return
		}
	}
	reader := s.attach()
	if !g.inlet.push(b.line, r.Context().Done()) {
		s.leave(reader)
		closed(w, id)
		if own {
			g.end()
		}
		return
	}
	answered := f.respond(w, r, s, reader, false)
	switch {
	case own && (!answered || !f.isParked(g)):
		g.end()
	case !answered: // who hangs up cancels
		params := append(append([]byte(`{"requestId":`), id...), `,"reason":"the client closed the connection"}`...)
		g.inlet.push(wire.AppendNotification(nil, "notifications/cancelled", params), nil)
	}
}

// place finds the connection for a request, and makes the stream for its answer.
// A connection that is its own ends with it, but for one that has parked it.
func (f *Front) place(who who, b *body) (g *guest, s *stream, own bool, refused *api.Error) {
	if g := f.unpark(who, &b.messages[0]); g != nil {
		if s, err := g.box.open(b.requests); err == nil {
			return g, s, who.session == "" || !f.isNamed(g), nil
		}
	}
	if who.session != "" {
		g, err := f.ofName(who)
		if err != nil {
			return nil, nil, false, err
		}
		if g.box.crowded() {
			return nil, nil, false, &api.Error{Msg: tooMany}
		}
		if s, err := g.box.open(b.requests); err == nil {
			return g, s, false, nil
		} // else another client of the session counts from one, too
	}
	g, err := f.welcome(who, true, true)
	if err != nil {
		return nil, nil, false, err
	}
	s, _ = g.box.open(b.requests) // there is no other
	return g, s, true, nil
}

// ofName is the one connection of all who say the same of themselves.
func (f *Front) ofName(who who) (*guest, *api.Error) {
	f.naming.Lock()
	defer f.naming.Unlock()
	f.mu.Lock()
	g := f.named[who]
	f.mu.Unlock()
	if g != nil {
		return g, nil
	}
	g, err := f.welcome(who, true, false)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	if _, open := f.guests[g]; open {
		f.named[who] = g
	}
	f.mu.Unlock()
	return g, nil
}

func (f *Front) isNamed(g *guest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.named[g.who] == g
}

// park keeps a connection that has asked its host something in an answer, until
// the host comes back with the state, or has had its time to.
func (f *Front) park(g *guest, state string) {
	f.mu.Lock()
	f.parked[state] = g
	f.mu.Unlock()
	time.AfterFunc(parkedFor, func() {
		f.mu.Lock()
		waits := f.parked[state] == g
		delete(f.parked, state)
		f.mu.Unlock()
		if waits && !f.isNamed(g) && !f.isParked(g) && g.idleFor(time.Now()) > 0 {
			g.end()
		}
	})
}

func (f *Front) isParked(g *guest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.parked {
		if o == g {
			return true
		}
	}
	return false
}

// unpark finds the connection that has parked a request. Its state opens it to
// those only who say the same of themselves as before.
func (f *Front) unpark(who who, env *wire.Envelope) *guest {
	state := env.Text(env.RequestState)
	if !strings.HasPrefix(state, ownState) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.parked[state]
	if g == nil || g.who != who {
		return nil
	}
	delete(f.parked, state)
	return g
}
