package daemon

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/front"
	"github.com/dezren39/mcpx/pkg/session"
)

// web is the HTTP front of a daemon. It does not change once the daemon serves.
type web struct {
	front     *front.Front // nil: it is off
	url       string
	tokenFile string
	fault     *api.Problem // why it is off, when the config has it on
}

// status is nil while the front is off.
func (w *web) status() *api.HTTPStatus {
	if w.front == nil {
		return nil
	}
	return &api.HTTPStatus{URL: w.url, TokenFile: w.tokenFile}
}

// openFront has hosts served over HTTP, if the config says so. Where that is not
// possible the daemon serves the others, and status says why.
func (d *Daemon) openFront() {
	h := d.loader.View("").Daemon.HTTP
	if h == nil {
		return
	}
	if err := d.tryFront(h); err != nil {
		d.o.Log.Error("opened no HTTP front", "err", err)
		d.web.fault = &api.Problem{
			Field: "daemon.http", Message: err.Error(),
			Hint: cmp.Or(config.HintOf(err), "mend it, then: mcpx stop"),
		}
	}
}

func (d *Daemon) tryFront(h *config.HTTP) error {
	var digest *[sha256.Size]byte
	if h.Auth != "none" {
		sum, file, err := front.Token(d.o.Dirs.State)
		if err != nil {
			return err
		}
		digest, d.web.tokenFile = &sum, file
	}
	l, err := net.Listen("tcp", strings.Replace(h.Listen, "localhost:", "127.0.0.1:", 1))
	if err != nil {
		return &portTaken{h.Listen, err}
	}
	d.web.url = "http://" + l.Addr().String() + "/mcp"
	d.web.front = front.New(front.Options{Listener: l, Digest: digest, Open: d.openFar, Log: d.o.Log})
	d.wg.Go(func() {
		if err := d.web.front.Serve(); err != nil {
			d.o.Log.Error("lost HTTP front", "err", err)
		}
	})
	d.o.Log.Info("opened HTTP front")
	return nil
}

// portTaken is an address that cannot be listened at.
type portTaken struct {
	addr string
	err  error
}

func (e *portTaken) Error() string {
	if errors.Is(e.err, syscall.EADDRINUSE) {
		return e.addr + " is held by another process"
	}
	return e.err.Error()
}

// Hint says what a person can do.
func (e *portTaken) Hint() string {
	return "end what listens there, or write another port, then: mcpx stop. Until then hosts that send a token to this address tell it to that process"
}

// closeFront ends the sessions over HTTP in good order.
func (d *Daemon) closeFront() {
	if d.web.front != nil {
		d.web.front.Close(drainLimit)
	}
}

// farHost is a session over HTTP. There is no capsule behind it: it ends with the
// daemon, and its host opens the next.
type farHost struct {
	*session.Conn
	d      *Daemon
	single bool
}

// openFar opens a session for the front.
func (d *Daemon) openFar(out session.Writer, hello api.Hello, single bool) (front.Host, *api.Error) {
	if _, err := d.room(single); err != nil {
		return nil, err
	}
	c := session.New(out, session.Options{
		Hello: hello, Home: d.o.Dirs.Home, Epoch: d.epoch, CallID: d.callID, Single: single,
		Servers: d.servers, World: d.world, Version: d.o.Version, Log: d.o.Log,
	})
	d.mu.Lock()
	d.far++
	d.idle = time.Time{}
	d.mu.Unlock()
	d.table.Add(c)
	return &farHost{c, d, single}, nil
}

// Serve serves the host until its session ends.
func (h *farHost) Serve(src session.Source) error {
	id, d, began := h.Identity(), h.d, time.Now()
	level := d.o.Log.Info
	if h.single { // one for each request
		level = d.o.Log.Debug
	}
	level("opened session", "session", id.Session, "server", h.Server())
	if !h.single {
		if seen := h.Snapshot().Servers; len(seen) == 0 || seen[0].State == session.Unknown {
			d.reread() // it may stand in a file that was written a moment ago
		}
	}
	err := h.Conn.Serve(src)
	level("closed session", "session", id.Session, "server", h.Server(), "took", time.Since(began).Round(time.Millisecond))
	d.mu.Lock()
	if d.far--; len(d.open)+d.far == 0 {
		d.idle = time.Now()
	}
	d.mu.Unlock()
	d.table.Remove(h.Conn)
	return err
}
