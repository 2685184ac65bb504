// Package page serves the page to look at sessions, servers and rules, and to
// switch them, to a browser on this machine. It has a port of its own, behind the
// gate, that is open only while somebody looks (threats T9, T32). What the page
// shows and does is the control API, of which it reaches a part; this package
// knows none of it.
package page

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/gate"
)

// files are what a browser loads; nothing comes from anywhere else.
//
//go:embed static
var files embed.FS

// Linger is how long the port stays open after the last page was closed.
const Linger = 15 * time.Minute

// Options open a page.
type Options struct {
	Listener net.Listener // on a loopback address
	API      http.Handler // what a page with a token reaches, below /v1/
	Dir      string       // private to this user, for the files that lead a browser here
	Log      *slog.Logger
}

// Visitor is who opened a page.
type Visitor struct {
	Person bool // and not an agent from inside its session
}

type visitorKey struct{}

// VisitorOf is who looks at the page that sent a request; ok is false for one that
// came another way.
func VisitorOf(ctx context.Context) (v Visitor, ok bool) {
	v, ok = ctx.Value(visitorKey{}).(Visitor)
	return v, ok
}

// Page is one that serves.
type Page struct {
	o      Options
	port   *gate.Port
	shell  http.Handler
	keys   keys
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex // guards what follows
	busy  int        // requests under way
	quiet *time.Timer
	left  map[string]bool // files that lead here
}

// What the parts of the port let in.
var (
	shellGate = gate.Policy{Methods: []string{http.MethodGet}, Door: true}
	codeGate  = gate.Policy{Methods: []string{http.MethodPost}}
	apiGate   = gate.Policy{Methods: []string{http.MethodGet, http.MethodPost, http.MethodPut}}
)

// New makes a page; Serve has it answer.
func New(o Options) *Page {
	static, err := fs.Sub(files, "static")
	if err != nil { // only when the directory above is not embedded
		panic(fmt.Sprintf("page: %v", err))
	}
	p := &Page{o: o, shell: http.FileServerFS(static), left: map[string]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.port = gate.NewPort(o.Listener, p, o.Log)
	p.quiet = time.AfterFunc(Linger, p.cancel)
	return p
}

// Serve answers until Close, or until nobody has looked for as long as Linger is.
func (p *Page) Serve() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.ctx.Done()
		brief, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.port.Close(brief)
	}()
	err := p.port.Serve()
	p.cancel()
	<-ended
	p.quiet.Stop()
	p.clear()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends the page. Serve returns soon after.
func (p *Page) Close() { p.cancel() }

// Over reports whether the page has ended, or is about to.
func (p *Page) Over() bool { return p.ctx.Err() != nil }

// Watched reports whether a request is under way, as one always is while a page is
// open, or somebody is about to come.
func (p *Page) Watched() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy > 0 || len(p.left) > 0
}

// ServeHTTP lets a request through the gate of the part that it is for.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	switch path := r.URL.Path; {
	case path == "/token":
		p.exchange(w, r)
	case strings.HasPrefix(path, "/v1/"):
		p.ask(w, r)
	default:
		p.show(w, r)
	}
}

// mayLoad is what the page may load and do (threat T27).
const mayLoad = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// show serves what says nothing: the page as it is for everybody.
func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	if no := shellGate.Admit(p.port.Asked(r)); no != nil {
		shellGate.Refuse(w, no.Status, no.Msg)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", mayLoad)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	p.shell.ServeHTTP(w, r)
}

// exchange gives a token for a code.
func (p *Page) exchange(w http.ResponseWriter, r *http.Request) {
	if no := codeGate.Admit(p.port.Asked(r)); no != nil {
		codeGate.Refuse(w, no.Status, no.Msg)
		return
	}
	var req struct {
		Code string `json:"code"`
	}
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	token, ok := p.keys.exchange(req.Code, time.Now())
	if !ok {
		api.WriteError(w, http.StatusUnauthorized, api.Error{Msg: "this link was used, or is too old", Hint: "mcpx ui opens another"})
		return
	}
	api.WriteJSON(w, http.StatusOK, map[string]string{"token": token})
}

// ask passes a request with a token on.
func (p *Page) ask(w http.ResponseWriter, r *http.Request) {
	var who Visitor
	g := apiGate
	g.Opens = func(digest [32]byte) (ok bool) {
		who, ok = p.keys.holder(digest)
		return ok
	}
	if no := g.Admit(p.port.Asked(r)); no != nil {
		g.Refuse(w, no.Status, no.Msg)
		return
	}
	p.enter()
	defer p.leave()
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), visitorKey{}, who))
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	p.o.API.ServeHTTP(w, r.WithContext(ctx))
}

// enter and leave are around what a page asks.
func (p *Page) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	p.quiet.Stop()
}

func (p *Page) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy--; p.busy == 0 {
		p.quiet.Reset(Linger)
	}
}
