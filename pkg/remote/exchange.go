package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// exchange sends a post and delivers what comes back. It is sent again only when
// the server refused it unread: it did not take the credentials, did not know the
// session, or missed a header.
func (c *Conn) exchange(ctx context.Context, p *post) *trouble {
	renewed, learned := false, false
	for {
		s := c.current()
		resp, t := c.roundTrip(ctx, func() *http.Request { return c.postRequest(ctx, p, s) })
		if t != nil {
			return t
		}
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			defer resp.Body.Close()
			return c.receive(ctx, p, resp)
		}
		body, _ := readAll(resp.Body, maxError) // what is cut off is not read either
		_ = resp.Body.Close()
		switch {
		case !renewed && s.lost(resp.StatusCode, body):
			if t := c.renew(s); t != nil {
				return t
			}
			renewed = true
			continue
		case !learned && c.missesHeaders(p, body):
			if t := c.relearn(ctx); t != nil {
				return t
			}
			learned = true
			continue
		case p.key != "" && c.deliverError(p, body):
			return nil
		}
		if scope, ok := missingScope(resp.Header); ok && resp.StatusCode == http.StatusForbidden && c.keys.tokens != nil {
			c.keys.tokens.Missing(scope)
		}
		return c.refusal(resp)
	}
}

// roundTrip sends one request, and once more when there are fresh credentials in
// place of refused ones. A redirect is an answer like any other.
func (c *Conn) roundTrip(ctx context.Context, build func() *http.Request) (*http.Response, *trouble) {
	for again := true; ; again = false {
		cred, t := c.keys.now(ctx)
		if t != nil {
			return nil, t
		}
		resp, err := c.carrier.send(build(), cred)
		if err != nil {
			return nil, c.network(ctx, err)
		}
		if resp.StatusCode != http.StatusUnauthorized {
			return resp, nil
		}
		drain(resp)
		if again {
			fresh, t := c.keys.renew(ctx, cred)
			if t != nil {
				return nil, t
			}
			if fresh {
				continue
			}
		}
		return nil, c.unauthorized(resp.Header)
	}
}

func (c *Conn) network(ctx context.Context, err error) *trouble {
	if cause := ctx.Err(); cause != nil {
		err = cause
	}
	t := network(c.target.origin, err)
	t.msg = c.keys.mask(t.msg)
	return t
}

func (c *Conn) refusal(resp *http.Response) *trouble {
	return refusal(c.plan.Server, c.target.origin, c.keys.tokens != nil, resp)
}

// unauthorized explains a 401 for which there is no remedy here.
func (c *Conn) unauthorized(h http.Header) *trouble {
	if c.keys.tokens != nil && (asksToSignIn(h) || !c.keys.configured()) {
		return signIn(c.plan.Server)
	}
	t := &trouble{msg: c.target.origin + " refused the configured credentials: " + statusText(http.StatusUnauthorized), fatal: true, reason: "credentials refused"}
	t.hint = `look at "headers" and "secrets" of this server`
	if !c.keys.configured() {
		t.msg = c.target.origin + " wants credentials: " + statusText(http.StatusUnauthorized)
	}
	return t
}

// postRequest is the HTTP request for a post.
func (c *Conn) postRequest(ctx context.Context, p *post, s *session) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: p.begin})
	req := c.newRequest(ctx, http.MethodPost, p.line)
	if c.hs.Era == upstream.Modern {
		var params []parameter
		if p.method == "tools/call" {
			params = c.params.of(p.env.Text(p.env.Name))
		}
		for name, value := range mirrored(&p.env, params) {
			req.Header.Set(name, value)
		}
	} else {
		s.mark(req.Header)
	}
	return req
}

// newRequest is a request with what all have. Addresses of requests are checked.
func (c *Conn) newRequest(ctx context.Context, method string, body []byte) *http.Request {
	req := (&http.Request{
		Method: method, URL: c.target.endpoint, Host: c.target.endpoint.Host, Header: http.Header{},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	req.Header.Set("User-Agent", "mcpx/"+c.opts.Version)
	req.Header.Set("Accept", "text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return req
}

// receive delivers the body of a success.
func (c *Conn) receive(ctx context.Context, p *post, resp *http.Response) *trouble {
	kind := mediaType(resp.Header)
	switch {
	case p.key == "":
		drain(resp)
		return nil
	case kind == "text/event-stream":
		return c.follow(ctx, p, resp)
	case kind == "application/json":
		body, err := readAll(resp.Body, c.opts.most)
		if err != nil {
			return c.broken(ctx, err)
		}
		c.deliver(oneLine(body))
		if !c.answered(p) {
			return &trouble{msg: c.target.origin + " answered with something that is no answer to the request"}
		}
		return nil
	case resp.StatusCode != http.StatusOK || kind == "" && resp.ContentLength == 0:
		return &trouble{msg: fmt.Sprintf("%s accepted the request and gave no answer (%s)", c.target.origin, statusText(resp.StatusCode))}
	}
	return &trouble{
		msg:  fmt.Sprintf("%s answered with %q, which is neither JSON nor a stream of events", c.target.origin, plain(kind)),
		hint: "is the path of its url right?",
	}
}

// broken explains a body that could not be read to its end.
func (c *Conn) broken(ctx context.Context, err error) *trouble {
	if errors.Is(err, errTooLarge) {
		return &trouble{msg: fmt.Sprintf("the server's answer is over the limit of %d bytes", c.opts.most)}
	}
	return c.network(ctx, err)
}

func (c *Conn) answered(p *post) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.answered
}

// deliverError delivers the JSON-RPC error that a status of refusal came with.
// One without an id is the answer to what was asked.
func (c *Conn) deliverError(p *post, body []byte) bool {
	env, err := wire.Scan(oneLine(body))
	if err != nil || env.Kind != wire.Error {
		return false
	}
	id := env.Bytes(env.ID)
	if key, ok := wire.CanonicalID(id); ok && key != p.key {
		return false
	}
	line := env.Line
	if id == nil {
		line = append(append([]byte(`{"jsonrpc":"2.0","id":`), p.env.Bytes(p.env.ID)...), `,"error":`...)
		line = append(append(line, env.Bytes(env.Error)...), '}')
	}
	c.deliver(line)
	return true
}

// follow delivers a stream until it ends. A legacy one that breaks before the
// answer goes on where it was, if the server numbers its events.
func (c *Conn) follow(ctx context.Context, p *post, resp *http.Response) *trouble {
	ev := newEvents(resp.Body, c.opts.most)
	for failures := 0; ; {
		came, err := c.pump(ctx, ev, p)
		_ = resp.Body.Close()
		switch {
		case c.answered(p):
			return nil
		case errors.Is(err, errTooLarge), ctx.Err() != nil:
			return c.broken(ctx, err)
		case came:
			failures = 0
		}
		if failures++; c.hs.Era == upstream.Modern || ev.id == "" || failures > maxResumes {
			return &trouble{msg: c.target.origin + ": the stream ended before the answer", hint: "the call may have been carried out"}
		}
		if !sleep(ctx, pause(ev.retry, failures)) {
			return c.network(ctx, ctx.Err())
		}
		var t *trouble
		if resp, t = c.get(ctx, c.current(), ev.id); t != nil {
			c.opts.Log.Debug("could not resume", "server", c.plan.Server, "err", t.msg)
			resp = &http.Response{Body: http.NoBody}
			if t.fatal {
				return t
			}
		} else if resp.StatusCode != http.StatusOK || mediaType(resp.Header) != "text/event-stream" {
			drain(resp)
			return &trouble{
				msg:  fmt.Sprintf("%s: the stream ended before the answer and could not be resumed: %s", c.target.origin, statusText(resp.StatusCode)),
				hint: "the call may have been carried out",
			}
		}
		next := newEvents(resp.Body, c.opts.most)
		next.id, next.retry = ev.id, ev.retry
		ev = next
	}
}

// maxResumes is how often in a row a stream is taken up again in vain.
const maxResumes = 5

// pump delivers the events of a stream to its end, and says whether any came. A
// stream whose request was answered has a moment to end by itself, so that its
// connection can be used again.
func (c *Conn) pump(ctx context.Context, ev *events, p *post) (came bool, err error) {
	var late *time.Timer
	for {
		e, err := ev.next()
		if err != nil {
			return came, err
		}
		came = true
		if line := oneLine(e.data); (e.kind == "" || e.kind == "message") && len(line) > 0 {
			c.deliver(line)
		}
		if p != nil && late == nil && c.answered(p) {
			late = time.AfterFunc(tailTime, p.cancel)
			defer late.Stop()
		}
	}
}

// get asks for a stream, new or where it was. Unlike a POST it may be led to
// another address of the same origin.
func (c *Conn) get(ctx context.Context, s *session, last string) (*http.Response, *trouble) {
	address := c.target.endpoint
	for range maxRedirects + 1 {
		resp, t := c.roundTrip(ctx, func() *http.Request {
			req := c.newRequest(ctx, http.MethodGet, nil)
			req.URL = address
			s.mark(req.Header)
			if last != "" {
				req.Header.Set(headerLast, last)
			}
			return req
		})
		if t != nil || resp.StatusCode < 300 || resp.StatusCode >= 400 {
			return resp, t
		}
		to, err := resp.Location()
		if err != nil || !sameOrigin(to, c.target.endpoint) {
			return resp, nil
		}
		drain(resp)
		to.User = nil
		address = to
	}
	return nil, &trouble{msg: c.target.origin + " leads from one address to the next without end"}
}

const maxRedirects = 3

// drain ends a response whose body says nothing. A short one is read, so that its
// connection can be used again; one whose end nobody knows is not waited for.
func drain(resp *http.Response) {
	if resp.ContentLength >= 0 && resp.ContentLength <= maxError {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	_ = resp.Body.Close()
}

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(h.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// sleep reports whether it was not woken.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause is how long to wait before a stream is asked for again: as long as the
// server said, or a second, and twice as long after each failure in a row.
func pause(said time.Duration, failures int) time.Duration {
	if said == 0 {
		said = time.Second
	}
	said = min(max(said, leastPause), mostSaid)
	return min(said<<min(max(failures-1, 0), 10), max(said, mostPause))
}

const (
	leastPause = 20 * time.Millisecond
	mostPause  = time.Minute
	mostSaid   = 5 * time.Minute // a server may ask for more than we would wait, and not for ever
)
