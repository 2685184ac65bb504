package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/socket"
)

// helloWait bounds a hello and the hand-over that follows it (threat T17).
const helloWait = 5 * time.Second

// shortHello is how long a hello is at most that needs no slot.
const shortHello = 4 << 10

// leaveAfter is how long a daemon stays that leaves for a newer caller: by then
// that one waits to start the next, before the older ones whose sessions it has.
const leaveAfter = 100 * time.Millisecond

// peerKey finds the accepted connection in a request's context.
type peerKey struct{}

// attachServer has the one route that hosts and sandboxes need.
func (d *Daemon) attachServer() *http.Server {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/session", d.attach)
	s := d.httpServer(m)
	s.ReadTimeout, s.IdleTimeout = helloWait, helloWait // for the body, too, and for another request
	return s
}

func (d *Daemon) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: helloWait,
		IdleTimeout:       time.Minute, // between requests: each holds a descriptor
		MaxHeaderBytes:    16 << 10,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, peerKey{}, c) },
	}
}

// peer is who sent a request, by the kernel.
func peer(r *http.Request) socket.Peer {
	c, _ := r.Context().Value(peerKey{}).(*net.UnixConn)
	if c == nil {
		return socket.Peer{}
	}
	p, err := socket.PeerOf(c)
	if err != nil {
		return socket.Peer{}
	}
	return p
}

// attach opens a session: hello, 101, three descriptors, and then the host's
// own pipes (design D8).
func (d *Daemon) attach(w http.ResponseWriter, r *http.Request) {
	var hello api.Hello
	if status, err := d.hear(w, r, &hello); err != nil {
		w.Header().Set("Connection", "close") // nothing else can be asked here
		api.WriteError(w, status, *err)
		return
	}
	shim := peer(r)
	control, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		api.WriteError(w, http.StatusInternalServerError, api.Error{Msg: err.Error()})
		return
	}
	uc, ok := control.(*net.UnixConn)
	if !ok {
		_ = control.Close()
		return
	}
	a := &attached{control: uc, ended: make(chan struct{})}
	h, err := receive(uc)
	if err != nil {
		d.refuse(a, shim, err)
		return
	}
	d.wg.Go(func() { d.host(a, hello, shim, h) })
}

// hear reads a hello and decides upon it. Only a long one waits for a slot: who is
// slow to send a short one, or to hand over, holds no more than one who says
// nothing at all, and must not hold up others.
func (d *Daemon) hear(w http.ResponseWriter, r *http.Request, hello *api.Hello) (int, *api.Error) {
	if r.ContentLength < 0 || r.ContentLength > shortHello {
		select {
		case d.hellos <- struct{}{}:
			defer func() { <-d.hellos }()
		case <-r.Context().Done():
			return http.StatusRequestTimeout, &api.Error{Msg: "the caller left"}
		}
	}
	if err := readHello(w, r, hello); err != nil {
		return http.StatusBadRequest, err
	}
	return d.admit(*hello)
}

// refuse ends a hand-over that was not as it must be.
func (d *Daemon) refuse(a *attached, shim socket.Peer, err error) {
	d.o.Log.Warn("refused hand-over", "pid", shim.PID, "err", err)
	failed := 1
	a.say(api.ShimLine{Stderr: "mcpx: the hand-over was refused: " + err.Error()})
	a.say(api.ShimLine{End: &failed})
	_ = a.control.Close()
}

// readHello is lenient where api.ReadJSON is strict: a newer shim may say more.
func readHello(w http.ResponseWriter, r *http.Request, hello *api.Hello) *api.Error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err == nil {
		err = json.Unmarshal(body, hello)
	}
	if err != nil {
		return &api.Error{Msg: "the hello cannot be read: " + err.Error(), Hint: "is this mcpx connect of another version? mcpx version, mcpx status"}
	}
	return nil
}

// admit decides whether a hello may open a session, and how it is refused: 503
// has the shim dial again, for the next daemon.
func (d *Daemon) admit(h api.Hello) (int, *api.Error) {
	switch skewed(h.API, api.Version, d.o.Supervised) {
	case refuse:
		return http.StatusConflict, &api.Error{Msg: fmt.Sprintf("the caller speaks API %d, this daemon %d (%s)", h.API, api.Version, d.o.Version), Hint: "a service runs an older mcpx; restart it with the newer one: systemctl --user restart mcpx"}
	case leave:
		d.o.Log.Info("left for a newer caller", "err", fmt.Sprintf("it speaks API %d, this daemon %d", h.API, api.Version))
		time.AfterFunc(leaveAfter, d.stop)
		return http.StatusServiceUnavailable, &api.Error{Msg: "the daemon leaves for a newer one", Hint: "connect again"}
	}
	return d.room(false)
}

// room refuses a session when there is none for it. One for a single request opens
// nothing of its own.
func (d *Daemon) room(single bool) (int, *api.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.quit:
		return http.StatusServiceUnavailable, &api.Error{Msg: "the daemon is stopping", Hint: "connect again"}
	case len(d.open)+d.far >= maxSessions:
		return http.StatusTooManyRequests, &api.Error{Msg: fmt.Sprintf("%d sessions are open, and that is the limit", maxSessions), Hint: "close some: mcpx status shows whose they are"}
	}
	if single {
		return 0, nil
	}
	if err := crowded(descriptors()); err != nil {
		return http.StatusTooManyRequests, err
	}
	return 0, nil
}

// receive answers 101 and takes the descriptors that follow it.
func receive(c *net.UnixConn) (handed, error) {
	if err := c.SetDeadline(time.Now().Add(helloWait)); err != nil {
		return handed{}, err
	}
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcpx/1\r\n\r\n"); err != nil {
		return handed{}, err
	}
	files, err := socket.ReceiveFiles(c, 3)
	if err != nil {
		return handed{}, err
	}
	h := handed{in: files[0], out: files[1], capsule: files[2]}
	if err := errors.Join(socket.CheckStdio(files), socket.CheckCapsule(h.capsule)); err != nil {
		h.close()
		return handed{}, err
	}
	if h.in, err = ownPipe(h.in, os.O_RDONLY); err == nil {
		h.out, err = ownPipe(h.out, os.O_WRONLY)
	}
	if err != nil {
		h.close()
		return handed{}, err
	}
	return h, c.SetDeadline(time.Time{})
}
