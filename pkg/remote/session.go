package remote

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// session is what a legacy server calls the time from one initialize to the next;
// it may have no name. Never changed once made.
type session struct {
	id      string
	version string             // the revision agreed upon; "" before
	life    context.Context    // ends when another takes its place
	end     context.CancelFunc // ends it
}

// mark says on a request whose session it is of.
func (s *session) mark(h http.Header) {
	if s.version != "" {
		h.Set(headerVersion, encodeValue(s.version))
	}
	if s.id != "" {
		h.Set(headerSession, s.id)
	}
}

// lost reports whether a server does not know the session any more: "it MUST
// respond … with HTTP 404", and some answer 400 and say why.
func (s *session) lost(status int, body []byte) bool {
	switch {
	case s.id == "":
		return false
	case status == http.StatusNotFound:
		return true
	case status != http.StatusBadRequest:
		return false
	}
	env, err := wire.Scan(oneLine(body))
	says := bytes.ToLower(body)
	return (err != nil || env.ID.Empty()) && (bytes.Contains(says, []byte("session")) || bytes.Contains(says, []byte("not initialized")))
}

func (c *Conn) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// begin makes what a server answered to initialize the session.
func (c *Conn) begin(o outcome) {
	s := &session{id: o.session, version: upstream.ProtocolVersion(o.result)}
	s.life, s.end = context.WithCancel(c.life)
	c.mu.Lock()
	old := c.session
	c.session = s
	c.mu.Unlock()
	if old.end != nil {
		old.end()
	}
}

// renew opens a new session in place of one that the server has lost. Only the
// first to come does the work. What the server must know again it is told, and
// everybody here that its lists may have changed (report N2).
func (c *Conn) renew(lost *session) *trouble {
	c.renewing.Lock()
	defer c.renewing.Unlock()
	if c.current() != lost {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.life, c.opts.StartTimeout)
	defer cancel()
	o := c.ask(ctx, initializing, c.plain)
	if (state{ask: initializing}).on(o) != openLegacy {
		if o.trouble != nil && o.trouble.fatal {
			return o.trouble
		}
		t := &trouble{msg: c.target.origin + " lost the session and opened no other", reason: "session lost", fatal: true}
		if o.trouble != nil {
			t.msg, t.hint = t.msg+": "+o.trouble.msg, o.trouble.hint
		}
		return t
	}
	c.begin(o)
	c.opts.Log.Info("opened session again", "server", c.plan.Server, "key", c.plan.Key)
	if t := c.initialized(ctx); t != nil {
		return t
	}
	c.mu.Lock()
	lines := c.replay.lines()
	c.mu.Unlock()
	if err := c.Write(lines); err != nil {
		return &trouble{msg: "could not tell the server what it has lost: " + err.Error(), fatal: true}
	}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if upstream.Offers(o.result, kind) {
			c.deliver(wire.AppendNotification(nil, "notifications/"+kind+"/list_changed", nil))
		}
	}
	return nil
}

// initialized ends the handshake of a session.
func (c *Conn) initialized(ctx context.Context) *trouble {
	p := newPost(bytes.TrimSpace(wire.AppendNotification(nil, "notifications/initialized", nil)))
	s := c.current()
	resp, t := c.roundTrip(ctx, func() *http.Request { return c.postRequest(ctx, p, s) })
	if t != nil {
		return t
	}
	defer drain(resp)
	if resp.StatusCode >= 300 {
		return c.refusal(resp)
	}
	return nil
}

// leave takes leave of the session: "clients … SHOULD send an HTTP DELETE". A
// server need not care.
func (c *Conn) leave(ctx context.Context) {
	s := c.current()
	if s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, byeTime)
	defer cancel()
	cred, t := c.keys.now(ctx)
	if t != nil {
		return
	}
	req := c.newRequest(ctx, http.MethodDelete, nil)
	s.mark(req.Header)
	if resp, err := c.carrier.send(req, cred); err == nil {
		drain(resp)
	}
}

// listen keeps the stream open on which a legacy server says what belongs to no
// request, for as long as there are sessions. Many servers have none.
func (c *Conn) listen() {
	last, failures := "", 0
	for s := c.current(); c.life.Err() == nil; {
		if now := c.current(); now != s {
			s, last, failures = now, "", 0
		}
		resp, t := c.get(s.life, s, last)
		retry := time.Duration(0)
		switch {
		case s.life.Err() != nil:
			if resp != nil {
				drain(resp)
			}
			continue
		case t != nil && t.fatal: // its requests may be answered all the same; they say if not
			c.opts.Log.Debug("got no stream", "server", c.plan.Server, "err", c.keys.mask(t.msg))
			return
		case t != nil, resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests:
			failures++
		case resp.StatusCode == http.StatusOK && mediaType(resp.Header) == "text/event-stream":
			ev := newEvents(resp.Body, c.opts.most)
			ev.id = last
			if came, _ := c.pump(s.life, ev, nil); came {
				failures = 0
			} else {
				failures++
			}
			last, retry = ev.id, ev.retry
		case s.id != "" && resp.StatusCode == http.StatusNotFound:
			drain(resp)
			if t := c.renew(s); t != nil {
				c.fail(t)
				return
			}
			continue
		default: // it offers none
			drain(resp)
			return
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		sleep(s.life, pause(retry, failures))
	}
}

// replay is what a server was told and must be told again in a new session.
// Guarded by Conn.mu.
type replay struct {
	level      []byte   // params of the last logging/setLevel
	subscribed []string // raw params of resources/subscribe
	n          int
}

// ownIDs begin the ids of requests that only this package waits for.
var ownIDs = []byte(`"mcpx-`)

func (r *replay) note(p *post) {
	params := string(p.env.Bytes(p.env.Params))
	switch p.method {
	case "logging/setLevel":
		r.level = []byte(params)
	case "resources/subscribe", "resources/unsubscribe":
		uri := strings.Clone(p.env.Text(p.env.URI))
		r.subscribed = slices.DeleteFunc(r.subscribed, func(u string) bool { return u == uri })
		if p.method == "resources/subscribe" && len(r.subscribed) < maxQueued/2 {
			r.subscribed = append(r.subscribed, uri)
		}
	}
}

func (r *replay) lines() (lines []byte) {
	add := func(method string, params []byte) {
		r.n++
		id := wire.AppendString(nil, "mcpx-again-"+strconv.Itoa(r.n))
		lines = wire.AppendRequest(lines, id, method, params)
	}
	if r.level != nil {
		add("logging/setLevel", r.level)
	}
	for _, uri := range r.subscribed {
		add("resources/subscribe", append(wire.AppendString([]byte(`{"uri":`), uri), '}'))
	}
	return lines
}
