package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/dezren39/mcpx/pkg/socket"
)

// Client talks to the control socket.
type Client struct {
	runtime *socket.Runtime
	daemon  int // pid of the one that ran at Open
	http    http.Client
}

// TrustRequest is POST /v1/trust and /v1/untrust.
type TrustRequest struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256,omitempty"`
}

// RestartRequest is POST /v1/restart.
type RestartRequest struct {
	Server string `json:"server,omitempty"`
	Key    string `json:"key,omitempty"`
}

// Done is the answer of changes: how many things they touched and what to know.
type Done struct {
	Count    int       `json:"count"`
	Message  string    `json:"message,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Log is one line of GET /v1/logs?server=&follow=, newline-delimited JSON.
type Log struct {
	Time   string `json:"time"`
	Server string `json:"server"`
	Key    string `json:"key"`
	PID    int    `json:"pid"`
	Line   string `json:"line"`
}

// answerTime is how long a daemon may take to answer anything at all.
const answerTime = 5 * time.Second

// Open connects to the daemon of a runtime directory; socket.ErrNoDaemon when
// there is none. It starts none, nor has systemd start one: it dials only when
// one runs. One that does not answer within 5 s is a *SilentError.
func Open(runtimeDir string) (*Client, error) { return open(runtimeDir, answerTime) }

func open(runtimeDir string, patience time.Duration) (*Client, error) {
	rt, err := socket.OpenRuntime(runtimeDir, false)
	if err != nil {
		return nil, err
	}
	c := &Client{runtime: rt}
	c.http.Transport = &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return rt.Dial(socket.Control)
		},
	}
	if err := c.find(patience); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// find sees that a daemon runs, and that it answers: whatever it says to a
// question of no meaning will do.
func (c *Client) find(patience time.Duration) error {
	pid, running, err := c.runtime.Daemon()
	if err != nil {
		return err
	}
	if !running {
		return c.runtime.NoDaemon(socket.Control)
	}
	c.daemon = pid
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer c.http.CloseIdleConnections()
	body, err := c.send(ctx, http.MethodGet, "/", nil)
	if err == nil {
		return body.Close()
	}
	if _, answered := errors.AsType[*Refusal](err); answered {
		return nil
	}
	if ctx.Err() != nil {
		return &SilentError{PID: pid, patience: patience}
	}
	return err
}

// Status is GET /v1/status.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	return ask[Status](ctx, c, "GET", "/v1/status", nil)
}

// Reload is POST /v1/reload.
func (c *Client) Reload(ctx context.Context) (*Done, error) {
	return ask[Done](ctx, c, "POST", "/v1/reload", struct{}{})
}

// Restart is POST /v1/restart.
func (c *Client) Restart(ctx context.Context, r RestartRequest) (*Done, error) {
	return ask[Done](ctx, c, "POST", "/v1/restart", r)
}

// Trust is POST /v1/trust.
func (c *Client) Trust(ctx context.Context, r TrustRequest) (*Done, error) {
	return ask[Done](ctx, c, "POST", "/v1/trust", r)
}

// Untrust is POST /v1/untrust.
func (c *Client) Untrust(ctx context.Context, r TrustRequest) (*Done, error) {
	return ask[Done](ctx, c, "POST", "/v1/untrust", r)
}

// Stop is POST /v1/stop; it returns when the daemon and its children are gone,
// or with an error after a minute.
func (c *Client) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := ask[Done](ctx, c, "POST", "/v1/stop", struct{}{}); err != nil {
		return err
	}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		gone, err := c.gone()
		if gone || err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("the daemon (pid %d) was told to stop and still runs: %w", c.daemon, ctx.Err())
		}
	}
}

// gone is when the daemon lock, which a daemon holds for life, is free, or
// another daemon has it already.
func (c *Client) gone() (bool, error) {
	pid, running, err := c.runtime.Daemon()
	return !running || pid != 0 && pid != c.daemon, err
}

// Logs calls f for each line, until the end or, with follow, until ctx ends,
// which is no error.
func (c *Client) Logs(ctx context.Context, server string, follow bool, f func(Log)) error {
	query := url.Values{}
	if server != "" {
		query.Set("server", server)
	}
	if follow {
		query.Set("follow", "true")
	}
	body, err := c.send(ctx, "GET", "/v1/logs?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer body.Close()
	for lines := json.NewDecoder(body); ; {
		var line Log
		err := lines.Decode(&line)
		switch {
		case err == nil:
			f(line)
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		default:
			return fmt.Errorf("the daemon's logs broke off: %w", err)
		}
	}
}

// Close ends the client.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return c.runtime.Close()
}

// ask sends one request and decodes its answer.
func ask[T any](ctx context.Context, c *Client, method, route string, in any) (*T, error) {
	body, err := c.send(ctx, method, route, in)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	out := new(T)
	if err := json.NewDecoder(body).Decode(out); err != nil {
		return nil, fmt.Errorf("the daemon's answer to %s: %w", route, err)
	}
	return out, nil
}

// send returns the body of a good answer; any other is a *Refusal.
func (c *Client) send(ctx context.Context, method, route string, in any) (io.ReadCloser, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://mcpx"+route, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return nil, wrapped.Err // without the made-up URL
	} else if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxBody))
	if err != nil {
		return nil, err
	}
	return nil, ReadError(response.StatusCode, text)
}
