package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/page"
)

// ofThePage are the routes that a page reaches. None of them trusts, signs in, or
// ends the daemon.
var ofThePage = []string{
	"GET /v1/events", "GET /v1/logs", "GET /v1/rules", "PUT /v1/rules",
	"PUT /v1/sessions/{id}/visible", "PUT /v1/sessions/{id}/roots", "POST /v1/restart",
}

// eventsEvery is how often whoever follows the status hears of a change.
const eventsEvery = 500 * time.Millisecond

// pages is the port of the page, open while somebody looks.
type pages struct {
	mu   sync.Mutex // guards what follows
	open *page.Page
	quit bool
}

// postUI gives a way into the page, and opens its port if need be. Whoever asks
// from inside an agent's session gets a page that can do what he can.
func (d *Daemon) postUI(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	visitor := page.Visitor{Person: approve(config.ApprovePerson, d.callers(r), d.hosts(), "") == nil}
	link, err := d.pages.link(d, visitor)
	if err != nil {
		api.WriteError(w, http.StatusInternalServerError, api.Error{Msg: "cannot serve the page: " + err.Error()})
		return
	}
	d.o.Log.Info("opened page", "pid", peer(r).PID)
	api.WriteJSON(w, http.StatusOK, link)
}

func (p *pages) link(d *Daemon, v page.Visitor) (api.Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quit {
		return api.Link{}, errors.New("the daemon is stopping")
	}
	if p.open == nil || p.open.Over() {
		l, err := net.Listen("tcp", "127.0.0.1:0") // no port that another could hold while the daemon is down
		if err != nil {
			return api.Link{}, err
		}
		served := page.New(page.Options{Listener: l, API: d.pageRoutes(), Dir: d.runtime.Path(), Log: d.o.Log})
		p.open = served
		d.wg.Go(func() { p.serve(d, served) })
	}
	return p.open.Link(v)
}

func (p *pages) serve(d *Daemon, served *page.Page) {
	err := served.Serve()
	p.mu.Lock()
	if p.open == served {
		p.open = nil
	}
	p.mu.Unlock()
	if err != nil {
		d.o.Log.Error("lost page", "err", err)
		return
	}
	d.o.Log.Info("closed page")
}

// watched reports whether somebody looks at the page.
func (p *pages) watched() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open != nil && p.open.Watched()
}

func (p *pages) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quit = true
	if p.open != nil {
		p.open.Close()
	}
}

func (d *Daemon) pageRoutes() http.Handler {
	m, all := http.NewServeMux(), d.routes()
	for _, route := range ofThePage {
		m.HandleFunc(route, all[route])
	}
	return m
}

// consent decides whether a caller, on the socket or at the page, may do what
// widens, moves or trusts (design D11). typed is what a person could type instead.
func (d *Daemon) consent(r *http.Request, typed string) *api.Error {
	policy := d.loader.View("").Daemon.Approve
	if v, ok := page.VisitorOf(r.Context()); ok {
		return approveVisitor(policy, v, typed)
	}
	return approve(policy, d.callers(r), d.hosts(), typed)
}

// by is who asked, for the log.
func by(r *http.Request) any {
	if _, ok := page.VisitorOf(r.Context()); ok {
		return "page"
	}
	return peer(r).PID
}

// maxKnownDirs bounds what a page is told of at each change.
const maxKnownDirs = 200

// knownDirs are where sessions stand and what rules are for.
func (d *Daemon) knownDirs() []string {
	dirs := d.liveDirs()
	for _, row := range d.loader.Rules().Table.Preview(nil) {
		dirs = append(dirs, row.Dir)
	}
	slices.Sort(dirs)
	dirs = slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return dir == "" })
	return dirs[:min(len(dirs), maxKnownDirs)]
}

// getEvents streams the status and the rules, with what known directories get of
// them, as server-sent events: as they are, and again when they have changed.
func (d *Daemon) getEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w)
	tick := time.NewTicker(eventsEvery)
	defer tick.Stop()
	for last := map[string][]byte{}; ; {
		for _, event := range []struct {
			name string
			is   any
		}{{"rules", RulesOf(d.loader, d.knownDirs())}, {"status", d.status()}} {
			now, err := json.Marshal(event.is)
			if err != nil {
				return
			}
			if bytes.Equal(now, last[event.name]) {
				continue
			}
			last[event.name] = now
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event.name, now); err != nil || flush.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
