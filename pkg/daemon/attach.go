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
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/session"
	"github.com/dezren39/mcpx/pkg/socket"
	"github.com/dezren39/mcpx/pkg/stdio"
)

// helloWait bounds a hello and the hand-over that follows it (threat T17).
const helloWait = 5 * time.Second

// hostDepth is how many of the shim's ancestors are watched for a silent move
// (design D10).
const hostDepth = 8

// attached is one shim and the connection behind it.
type attached struct {
	control *net.UnixConn
	conn    *session.Conn

	mu sync.Mutex // one line at a time to the shim
}

// peerKey finds the accepted connection in a request's context.
type peerKey struct{}

// attachServer has the one route that hosts and sandboxes need.
func (d *Daemon) attachServer() *http.Server {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/session", d.attach)
	return d.httpServer(m)
}

func (d *Daemon) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: helloWait,
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
	select {
	case d.hellos <- struct{}{}:
		defer func() { <-d.hellos }()
	case <-r.Context().Done():
		return
	}
	var hello api.Hello
	if err := readHello(w, r, &hello); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	if status, err := d.admit(hello); err != nil {
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
	in, out, err := receive(uc)
	if err != nil {
		d.o.Log.Warn("refused hand-over", "pid", shim.PID, "err", err)
		failed := 1
		a := &attached{control: uc}
		a.say(api.ShimLine{Stderr: "mcpx: the hand-over was refused: " + err.Error()})
		a.say(api.ShimLine{End: &failed})
		_ = uc.Close()
		return
	}
	d.wg.Go(func() { d.host(uc, hello, shim, in, out) })
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
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case h.API != api.Version:
		return http.StatusConflict, &api.Error{Msg: fmt.Sprintf("the caller speaks API %d, this daemon %d (%s)", h.API, api.Version, d.o.Version), Hint: "mcpx stop, then connect again: the newer program starts its own daemon"}
	case h.Server == "":
		return http.StatusBadRequest, &api.Error{Field: "SERVER", Msg: "connect needs the name of a server", Hint: "mcpx explain --all lists the servers of this directory"}
	case d.quit:
		return http.StatusServiceUnavailable, &api.Error{Msg: "the daemon is stopping", Hint: "connect again"}
	case len(d.open) >= maxSessions:
		return http.StatusTooManyRequests, &api.Error{Msg: fmt.Sprintf("%d sessions are open, and that is the limit", maxSessions), Hint: "close some: mcpx status shows whose they are"}
	}
	return 0, nil
}

// receive answers 101 and takes the descriptors that follow it.
func receive(c *net.UnixConn) (in, out *os.File, err error) {
	if err := c.SetDeadline(time.Now().Add(helloWait)); err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcpx/1\r\n\r\n"); err != nil {
		return nil, nil, err
	}
	files, err := socket.ReceiveFiles(c, 3)
	if err != nil {
		return nil, nil, err
	}
	capsule := files[2]
	defer capsule.Close() // its content is for a daemon that survives another; nothing is kept there yet
	if err := errors.Join(socket.CheckStdio(files), socket.CheckCapsule(capsule)); err != nil {
		_ = files[0].Close()
		_ = files[1].Close()
		return nil, nil, err
	}
	if in, err = ownPipe(files[0], os.O_RDONLY); err != nil {
		_ = files[1].Close()
		return nil, nil, err
	}
	if out, err = ownPipe(files[1], os.O_WRONLY); err != nil {
		_ = in.Close()
		return nil, nil, err
	}
	return in, out, c.SetDeadline(time.Time{})
}

// host serves one host until its input ends or its shim is gone.
func (d *Daemon) host(control *net.UnixConn, hello api.Hello, shim socket.Peer, in, out *os.File) {
	w := stdio.NewWriter(out, 0)
	a := &attached{control: control}
	a.conn = session.New(w, session.Options{
		Hello: hello, Chain: proc.Ancestors(shim.PID, hostDepth), Home: d.o.Dirs.Home,
		Epoch: d.epoch, CallID: d.callID, Say: func(s string) { a.say(api.ShimLine{Stderr: s}) },
		Servers: d.servers, World: d.world, Version: d.o.Version, Log: d.o.Log,
	})
	if !d.enter(a) {
		a.say(api.ShimLine{Drain: true})
		_ = errors.Join(in.Close(), out.Close(), control.Close())
		return
	}
	a.say(api.ShimLine{Adopted: true})
	id := a.conn.Identity()
	d.o.Log.Info("opened session", "session", id.Session, "server", hello.Server, "pid", id.Host.PID, "dir", hello.Cwd)
	began := time.Now()

	var gone sync.WaitGroup
	gone.Go(func() { // the shim's end is the host's
		awaitEnd(control)
		a.conn.Close()
		_ = in.SetReadDeadline(time.Now())
	})
	_ = a.conn.Serve(in) // how a host's input ended is nobody's error
	_ = in.Close()
	code := a.conn.Exit()
	a.say(api.ShimLine{End: &code})
	w.Close()
	_ = out.Close()
	_ = control.Close()
	gone.Wait()
	d.leave(a)
	d.o.Log.Info("closed session", "session", id.Session, "server", hello.Server, "took", time.Since(began).Round(time.Millisecond))
}

// awaitEnd returns when the shim is gone. It says nothing any more, so that a
// large buffer would only be one more thing that each session holds.
func awaitEnd(control net.Conn) {
	var nothing [16]byte
	for {
		if _, err := control.Read(nothing[:]); err != nil {
			return
		}
	}
}

// say writes one line to the shim. A shim that does not read is gone or stuck:
// either way there is nobody to tell.
func (a *attached) say(line api.ShimLine) {
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.control.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = a.control.Write(append(b, '\n'))
}

// enter counts a session in; false when the daemon is stopping.
func (d *Daemon) enter(a *attached) bool {
	d.mu.Lock()
	if d.quit {
		d.mu.Unlock()
		return false
	}
	d.open[a] = struct{}{}
	d.idle = time.Time{}
	d.mu.Unlock()
	d.table.Add(a.conn)
	return true
}

func (d *Daemon) leave(a *attached) {
	d.mu.Lock()
	delete(d.open, a)
	if len(d.open) == 0 {
		d.idle = time.Now()
	}
	d.mu.Unlock()
	d.table.Remove(a.conn)
}

// drain ends every session: its host's lines are no longer read, then the shim
// is told and let go.
func (d *Daemon) drain() {
	d.mu.Lock()
	d.quit = true
	open := make([]*attached, 0, len(d.open))
	for a := range d.open {
		open = append(open, a)
	}
	d.mu.Unlock()
	var all sync.WaitGroup
	for _, a := range open {
		all.Go(func() {
			a.say(api.ShimLine{Drain: true})
			a.conn.Close()
			_ = a.control.Close()
		})
	}
	all.Wait()
}
