package gate

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Limits of threat T33; HeaderWait is for the headers of a request.
const (
	HeaderWait = 5 * time.Second
	quietWait  = time.Minute // between two requests of one TCP connection
	maxHeaders = 16 << 10
	maxConns   = 1024
)

// Port is an HTTP server on a loopback address.
type Port struct {
	l    net.Listener
	port uint16
	http *http.Server
}

// NewPort makes one; Serve has it answer.
func NewPort(l net.Listener, h http.Handler, log *slog.Logger) *Port {
	p := &Port{l: &narrow{Listener: l, free: make(chan struct{}, maxConns)}}
	if addr, ok := l.Addr().(*net.TCPAddr); ok {
		p.port = uint16(addr.Port)
	}
	p.http = &http.Server{
		Handler: h, ReadHeaderTimeout: HeaderWait, IdleTimeout: quietWait, MaxHeaderBytes: maxHeaders,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, &caller{conn: c})
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // what strangers send is no error of ours
	}
	return p
}

// Serve answers until the end of the port, then returns http.ErrServerClosed.
func (p *Port) Serve() error { return p.http.Serve(p.l) }

// Close ends the port: what is under way may end until ctx does.
func (p *Port) Close(ctx context.Context) {
	if p.http.Shutdown(ctx) != nil {
		_ = p.http.Close()
	}
}

// Asked gathers what the gate goes by from a request that came by this port.
func (p *Port) Asked(r *http.Request) Asked {
	var peer netip.Addr
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		peer = ap.Addr()
	}
	c, _ := r.Context().Value(peerKey{}).(*caller)
	return Asked{
		Peer: peer, Stranger: c == nil || c.stranger(), Port: p.port, Method: r.Method, Host: []string{r.Host},
		Origin: r.Header["Origin"], FetchSite: r.Header["Sec-Fetch-Site"], FetchMode: r.Header["Sec-Fetch-Mode"],
		ContentType: r.Header["Content-Type"], Authorization: r.Header["Authorization"],
	}
}

// Refuse answers who was not let in, or came for what is not there. It hangs up,
// for what else the request holds is not read.
func (p Policy) Refuse(w http.ResponseWriter, status int, msg string) {
	h := w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="mcpx"`)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", strings.Join(p.Methods, ", "))
	}
	h.Set("Connection", "close")
	Plain(w, status, msg)
}

// Plain answers in words.
func Plain(w http.ResponseWriter, status int, msg string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "mcpx: "+msg+"\n")
}

// peerKey finds the connection that a request came by.
type peerKey struct{}

// caller is that connection; whose it is is asked once.
type caller struct {
	conn net.Conn
	once sync.Once
	bad  bool
}

// stranger reports whether the kernel says that it is another user's.
func (c *caller) stranger() bool {
	c.once.Do(func() {
		uid, ok := peerUID(c.conn)
		c.bad = ok && uid != os.Geteuid()
	})
	return c.bad
}

// narrow lets so many connections be open at once; the next ones wait.
type narrow struct {
	net.Listener
	free chan struct{}
}

func (n *narrow) Accept() (net.Conn, error) {
	n.free <- struct{}{}
	c, err := n.Listener.Accept()
	if err != nil {
		<-n.free
		return nil, err
	}
	return &counted{Conn: c, release: sync.OnceFunc(func() { <-n.free })}, nil
}

type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
