// Package client is an MCP client in this process that goes the way of every
// host: through a shim to the daemon, so that identity, scope, trust and limits
// are those of a host that stands here. It is not the SDK's, which reads results
// into types and loses what those do not have: a result is the bytes that came.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/shim"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/wire"
)

// protocol is what hosts of today ask for.
const protocol = "2025-11-25"

// leaveWait bounds how long the daemon may take to let go of us.
const leaveWait = 2 * time.Second

// Options open a connection. Stdin, Stdout and Stderr of Shim are the client's.
type Options struct {
	Shim     shim.Options
	Name     string
	Version  string
	Progress func(params []byte) // of the call in flight, raw
	Say      func(line string)   // what a host's user would find on the shim's stderr
}

// Client is one connection. It is for one goroutine and has one request in
// flight.
type Client struct {
	o       Options
	to      *os.File // closed by Close
	lines   chan reply
	ended   chan struct{} // closed when the shim is; then why says how
	why     error
	cancel  context.CancelFunc
	closing sync.Once
	said    held
	last    int
}

// reply is a line that came, or the error that the stream ended with.
type reply struct {
	line []byte
	err  error
}

// Open connects and shakes hands. The daemon is started if there is none. A
// server that cannot be had is an *Error.
func Open(ctx context.Context, o Options) (*Client, error) {
	c := &Client{o: o, lines: make(chan reply), ended: make(chan struct{})}
	c.said.say = o.Say
	stdin, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), to.Close())
	}
	c.to = to
	// The shim outlives ctx by the little that it takes to say good-bye.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	o.Shim.Stdin, o.Shim.Stdout, o.Shim.Stderr = stdin, stdout, &c.said
	go func() {
		defer close(c.ended)
		_, c.why = shim.Join(life, o.Shim)
		_ = stdin.Close()
		_ = stdout.Close()
	}()
	go c.read(life, from)
	if err := c.greet(ctx); err != nil {
		// The answer has said it: the shim need not say it again.
		_, answered := errors.AsType[*Error](err)
		if ctx.Err() != nil {
			c.cancel() // there may be no daemon yet to see the end of our input
		}
		c.Close()
		c.said.release(answered)
		return nil, err
	}
	c.said.release(false)
	return c, nil
}

// read hands over what the daemon writes, line by line, until c ends.
func (c *Client) read(life context.Context, from *os.File) {
	defer from.Close()
	defer context.AfterFunc(life, func() { _ = from.Close() })()
	for lines := stdio.NewReader(from, 0); ; {
		line, err := lines.Next()
		_, long := errors.AsType[*stdio.TooLong](err)
		select {
		case c.lines <- reply{bytes.Clone(line), err}:
		case <-life.Done():
			return
		}
		if err != nil && !long {
			return
		}
	}
}

// Call calls a tool with raw arguments, an object on one line.
func (c *Client) Call(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
	params := wire.AppendString([]byte(`{"name":`), tool)
	params = append(append(params, `,"arguments":`...), arguments...)
	params = fmt.Appendf(params, `,"_meta":{"progressToken":%d}}`, c.last+1) // Request's id
	return c.Request(ctx, "tools/call", params)
}

func (c *Client) greet(ctx context.Context) error {
	params := wire.AppendString([]byte(`{"protocolVersion":"`+protocol+`","capabilities":{},"clientInfo":{"name":`), c.o.Name)
	params = append(wire.AppendString(append(params, `,"version":`...), c.o.Version), "}}"...)
	if _, err := c.Request(ctx, "initialize", params); err != nil {
		return err
	}
	return c.send(wire.AppendNotification(nil, "notifications/initialized", nil))
}

// Request asks and waits for the answer: the raw result, or an *Error. When ctx
// ends the other side is told that nobody waits any more.
func (c *Client) Request(ctx context.Context, method string, params []byte) ([]byte, error) {
	c.last++
	id := strconv.Itoa(c.last)
	line := wire.AppendRequest(nil, []byte(id), method, params)
	if err := c.write(ctx, line); err != nil {
		return nil, err
	}
	for {
		select {
		case r := <-c.lines:
			if r.err != nil {
				return nil, c.broken(r.err)
			}
			if mine, result, err := c.take(id, r.line); mine {
				return result, err
			}
		case <-ctx.Done():
			if method != "initialize" { // which must not be cancelled
				_ = c.send(wire.AppendNotification(nil, "notifications/cancelled", []byte(`{"requestId":`+id+`,"reason":"interrupted"}`)))
			}
			return nil, ctx.Err()
		}
	}
}

// take reads one line; mine says that it is the answer to the request id.
func (c *Client) take(id string, line []byte) (mine bool, result []byte, err error) {
	env, err := wire.Scan(line)
	if err != nil {
		return false, nil, nil // the daemon writes none such
	}
	mine = string(env.Bytes(env.ID)) == id
	switch env.Kind {
	case wire.Request:
		reply := wire.AppendError(nil, env.Bytes(env.ID), wire.CodeMethodNotFound, "Method not found", nil)
		if env.Text(env.Method) == "ping" {
			reply = wire.AppendResult(nil, env.Bytes(env.ID), []byte("{}"))
		}
		_ = c.send(reply) // who is gone ends the lines, too
	case wire.Notification:
		if c.o.Progress != nil && env.Text(env.Method) == "notifications/progress" && string(env.Bytes(env.Token)) == id {
			c.o.Progress(env.Bytes(env.Params))
		}
	case wire.Result:
		return mine, env.Bytes(env.Result), nil
	case wire.Error:
		return mine, nil, errorOf(env.Bytes(env.Error))
	}
	return false, nil, nil
}

// write sends a request for as long as somebody waits for it. Who gives up in the
// middle of a line says so by the end of the connection.
func (c *Client) write(ctx context.Context, line []byte) error {
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.to.SetWriteDeadline(time.Unix(1, 0))
		close(late)
	})
	err := c.send(line)
	if !stop() {
		<-late
		_ = c.to.SetWriteDeadline(time.Now().Add(leaveWait)) // for the good-bye
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return c.broken(err)
}

func (c *Client) send(line []byte) error {
	_, err := c.to.Write(line)
	return err
}

// broken is why there will be no answer: the shim knows best.
func (c *Client) broken(err error) error {
	if _, long := errors.AsType[*stdio.TooLong](err); long {
		return fmt.Errorf("the answer is too long: %w", err)
	}
	select {
	case <-c.ended:
	case <-time.After(leaveWait):
	}
	select {
	case <-c.ended:
		if c.why != nil {
			return c.why
		}
	default:
	}
	return fmt.Errorf("the connection to the daemon ended: %w", err)
}

// Close ends the connection and waits until the daemon has let go of it.
func (c *Client) Close() {
	c.closing.Do(func() {
		_ = c.to.Close()
		// What it still writes is for nobody, and must not hold it up.
		for timeout := time.After(leaveWait); ; {
			select {
			case <-c.lines:
				continue
			case <-c.ended:
			case <-timeout:
			}
			break
		}
		c.cancel()
		<-c.ended
	})
}
