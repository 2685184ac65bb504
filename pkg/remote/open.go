package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Dial shakes hands with the plan's server. ctx bounds the start, not the life.
// The era is the plan's, or the one remembered, or found by asking. The error is
// config's when the credentials could not be read, else an *upstream.Failure.
func Dial(ctx context.Context, p spawn.Plan, o Options) (*Conn, error) {
	o = o.withDefaults()
	t, err := newTarget(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	keys, err := newKeyring(ctx, p, t, o)
	if err != nil {
		return nil, err
	}
	c := newConn(p, o, t, keys)
	if t := c.open(ctx); t != nil {
		_ = c.Stop(context.WithoutCancel(ctx))
		return nil, c.failed(t)
	}
	c.wg.Go(func() { c.send(c.requests) })
	c.wg.Go(func() { c.send(c.asides) })
	if c.hs.Era == upstream.Legacy {
		c.wg.Go(c.listen)
	}
	return c, nil
}

// open asks until the server is open, or until nothing is left to ask.
func (c *Conn) open(ctx context.Context) *trouble {
	s, known := c.first(time.Now())
	asked := s.ask == probing
	assumed, used := false, map[move]bool{}
	for {
		patience := c.opts.StartTimeout
		if s.ask == probing {
			patience = c.opts.ProbeTimeout
		}
		asking, cancel := context.WithTimeout(ctx, patience)
		o := c.ask(asking, s.ask, !s.strict)
		if asking.Err() != nil && ctx.Err() == nil {
			o, assumed = outcome{}, true // silence is no evidence, and still something has to be tried
		}
		cancel()
		m := s.on(o)
		switch {
		case m == openLegacy, m == openModern:
			c.plain = !s.strict
			if t := c.settle(ctx, m, o); t != nil {
				return t
			}
			if !assumed {
				c.remember(known, asked)
			}
			return nil
		case m == giveUp, used[m]:
			c.forget(known, o)
			return c.explain(ctx, s, o)
		}
		used[m], s = true, s.after(m)
	}
}

// first is how the server is opened.
func (c *Conn) first(now time.Time) (state, upstream.Verdict) {
	known, ok := c.opts.Eras.Era(c.plan.Identity())
	if !ok || known.Era == upstream.Legacy && now.Sub(known.Checked) >= verdictLife {
		known = upstream.Verdict{}
	}
	s := state{auto: true, strict: c.plan.Workspace.Root != "" && !known.Plain}
	switch {
	case c.plan.Protocol == config.Legacy:
		s.ask, s.auto = initializing, false
	case c.plan.Protocol == config.Modern:
		s.ask, s.auto = discovering, false
	case known.Era == upstream.Legacy:
		s.ask = initializing
	case known.Era == upstream.Modern:
		s.ask = discovering
	}
	return s, known
}

// remember keeps what this start taught. An era that was not asked for keeps its
// date, so that it is asked for again one day.
func (c *Conn) remember(known upstream.Verdict, asked bool) {
	v := upstream.Verdict{Era: c.hs.Era, Plain: c.plan.Workspace.Root != "" && c.plain, Checked: known.Checked}
	if v == known {
		return
	}
	if asked || v.Era != known.Era {
		v.Checked = time.Now()
	}
	c.opts.Eras.SetEra(c.plan.Identity(), v)
}

// forget drops a remembered era when the server itself puts it in doubt.
func (c *Conn) forget(known upstream.Verdict, o outcome) {
	if known != (upstream.Verdict{}) && isEvidence(o.status) {
		c.opts.Eras.SetEra(c.plan.Identity(), upstream.Verdict{})
	}
}

// settle makes the handshake out of the answer.
func (c *Conn) settle(ctx context.Context, m move, o outcome) *trouble {
	if m == openLegacy {
		c.hs = c.greeting.Legacy(o.result)
		c.begin(o)
		return c.initialized(ctx)
	}
	var err error
	if c.hs, err = c.greeting.Modern(o.result, c.plan.Server); err != nil {
		return &trouble{msg: err.Error()}
	}
	c.mu.Lock()
	c.asides.queue, c.queued = nil, 0 // answers to questions that it may not have asked
	c.mu.Unlock()
	return nil
}

// ask asks one question of the handshake.
func (c *Conn) ask(ctx context.Context, a ask, unadorned bool) outcome {
	line := c.greeting.Discover(unadorned)
	if a == initializing {
		line = c.greeting.Initialize(unadorned)
	}
	p := newPost(bytes.TrimSpace(line))
	resp, t := c.roundTrip(ctx, func() *http.Request {
		req := c.newRequest(ctx, http.MethodPost, p.line)
		if a != initializing {
			for name, value := range mirrored(&p.env, nil) {
				req.Header.Set(name, value)
			}
		}
		return req
	})
	if t != nil {
		return outcome{trouble: t}
	}
	defer resp.Body.Close()
	o := outcome{status: resp.StatusCode, session: resp.Header.Get(headerSession)}
	if o.session != "" && !isSessionID(o.session) {
		return outcome{trouble: &trouble{msg: c.target.origin + " gave a session id that is not visible ASCII"}}
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		body, _ := readAll(resp.Body, maxError)
		c.look(&o, p, body)
		if o.kind == wire.Invalid {
			o.trouble = c.refusal(resp)
		}
		return o
	}
	if err := c.answer(&o, p, resp); err != nil {
		return outcome{trouble: c.broken(ctx, err)}
	}
	if o.kind == wire.Invalid {
		o.trouble = &trouble{msg: fmt.Sprintf("%s answered %s with something else (%s)", c.target.origin, a, plain(mediaType(resp.Header)))}
	}
	return o
}

// answer reads a success up to the answer.
func (c *Conn) answer(o *outcome, p *post, resp *http.Response) error {
	if mediaType(resp.Header) != "text/event-stream" {
		body, err := readAll(resp.Body, c.opts.most)
		if err == nil {
			c.look(o, p, body)
		}
		return err
	}
	for ev := newEvents(resp.Body, c.opts.most); o.kind == wire.Invalid; {
		e, err := ev.next()
		if err != nil {
			return err
		}
		c.look(o, p, e.data)
	}
	return nil
}

// look looks for the answer among what came. What the server asks in between is
// answered; what it says to nobody yet is dropped.
func (c *Conn) look(o *outcome, p *post, text []byte) {
	text = oneLine(text)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return // a page in HTML, or nothing
	}
	for env := range c.desk.Messages(text) {
		id := env.Bytes(env.ID)
		key, _ := wire.CanonicalID(id)
		switch {
		case env.Kind == wire.Request:
			if !c.desk.Answer(env) {
				c.desk.Refuse(env)
			}
		case env.Kind == wire.Notification, id != nil && key != p.key:
		case env.Kind == wire.Result:
			o.kind, o.result = wire.Result, bytes.Clone(env.Bytes(env.Result))
		default:
			o.kind = wire.Error
			o.code, o.msg, o.data = upstream.ErrorOf(env)
		}
	}
}

// explain says why a server was not opened.
func (c *Conn) explain(ctx context.Context, s state, o outcome) *trouble {
	speaks := "mcpx speaks 2024-11-05 to " + era.ModernVersion
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &trouble{msg: fmt.Sprintf("%s: %s timed out after %v", c.target.origin, s.ask, c.opts.StartTimeout), hint: `raise "startTimeout" if it is only slow`}
	case o.status >= 400 && o.status < 500 && o.kind == wire.Invalid && c.isOld(ctx, o.status):
		return &trouble{msg: c.target.origin + " speaks the HTTP+SSE transport of 2024-11-05, which mcpx does not", hint: "ask for its Streamable HTTP address, often /mcp in place of /sse"}
	case o.trouble != nil:
		return o.trouble
	case o.kind == wire.Result && s.ask == initializing:
		return &trouble{msg: fmt.Sprintf("answered initialize with the unknown protocol version %q", plain(upstream.ProtocolVersion(o.result))), hint: speaks}
	case o.kind == wire.Result:
		return &trouble{msg: "answered server/discover without " + era.ModernVersion, hint: `set "protocol": "legacy" if it has no ` + era.ModernVersion}
	case o.kind == wire.Error && o.code == era.CodeUnsupportedVersion && len(supported(o.data)) > 0:
		return &trouble{msg: fmt.Sprintf("%s: speaks only %s", s.ask, plain(strings.Join(supported(o.data), ", "))), hint: speaks}
	case o.kind == wire.Error:
		return &trouble{msg: fmt.Sprintf("%s: refused with error %d: %.300s", s.ask, o.code, o.msg)}
	}
	return &trouble{msg: fmt.Sprintf("%s: %s was not answered", c.target.origin, s.ask)}
}

// isOld asks, when nothing else helped, whether the server has the transport
// before this one: it greets a GET with the address to post to.
func (c *Conn) isOld(ctx context.Context, status int) bool {
	if status != http.StatusBadRequest && status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, byeTime)
	defer cancel()
	resp, t := c.get(ctx, &session{}, "")
	if t != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || mediaType(resp.Header) != "text/event-stream" {
		return false
	}
	e, err := newEvents(resp.Body, maxError).next()
	return err == nil && e.kind == "endpoint"
}

// missesHeaders reports whether a modern server refused a call since its headers
// do not repeat what they must.
func (c *Conn) missesHeaders(p *post, body []byte) bool {
	if c.hs.Era != upstream.Modern || p.method != "tools/call" {
		return false
	}
	env, err := wire.Scan(oneLine(body))
	if err != nil || env.Kind != wire.Error {
		return false
	}
	refused, _, _ := upstream.ErrorOf(&env)
	return refused == codeHeaderMismatch
}

// relearn lists the tools, to know what goes into headers: "the client SHOULD
// call tools/list …, then retry the original request".
func (c *Conn) relearn(ctx context.Context) *trouble {
	var cursor []byte
	for range maxPages {
		params := []byte("{}")
		if cursor != nil {
			params = wire.InsertMembers(params, append([]byte(`"cursor":`), cursor...))
		}
		line := wire.AppendRequest(nil, []byte(`"mcpx-tools"`), "tools/list", era.AddMeta(params, c.hs.Meta.Extra()))
		p := newPost(bytes.TrimSpace(line))
		resp, t := c.roundTrip(ctx, func() *http.Request { return c.postRequest(ctx, p, c.current()) })
		if t != nil {
			return t
		}
		var o outcome
		err := c.answer(&o, p, resp)
		_ = resp.Body.Close()
		if err != nil || o.kind != wire.Result {
			return &trouble{msg: c.target.origin + " wants headers for this call, and does not list its tools to say which"}
		}
		c.params.learn(o.result)
		at, more := wire.Member(o.result, "nextCursor")
		if !more {
			return nil
		}
		cursor = o.result[at.Start:at.End]
	}
	return nil
}

const maxPages = 100
