package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/registry"
)

// controlServer has status and every change. No route takes a program, an
// argument, an environment or a url: servers are named, never described
// (threat T10).
func (d *Daemon) controlServer() *http.Server {
	m := http.NewServeMux()
	for route, h := range d.routes() {
		m.HandleFunc(route, h)
	}
	return d.httpServer(m)
}

func (d *Daemon) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v1/status":   d.getStatus,
		"GET /v1/config":   d.getConfig,
		"GET /v1/logs":     d.getLogs,
		"GET /v1/events":   d.getEvents,
		"POST /v1/ui":      d.postUI,
		"POST /v1/trust":   d.postTrust,
		"POST /v1/untrust": d.postUntrust,
		"POST /v1/reload":  d.postReload,
		"POST /v1/restart": d.postRestart,
		"POST /v1/stop":    d.postStop,

		"GET /v1/rules": d.getRules,
		"PUT /v1/rules": d.putRules,

		"GET /v1/sessions":                 d.getSessions,
		"PUT /v1/sessions/{id}/visible":    d.putVisible,
		"DELETE /v1/sessions/{id}/visible": d.deleteVisible,
		"PUT /v1/sessions/{id}/roots":      d.putRoots,

		"GET /v1/auth":                  d.getAuth,
		"GET /v1/auth/{server}":         d.getAuthOf,
		"POST /v1/auth/logout":          d.postLogoutAll,
		"POST /v1/auth/{server}/login":  d.postLogin,
		"POST /v1/auth/{server}/logout": d.postLogout,
	}
}

func (d *Daemon) getStatus(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, d.status())
}

// getConfig is the merged config of a directory (?dir=), secrets hidden.
func (d *Daemon) getConfig(w http.ResponseWriter, r *http.Request) {
	dir := r.URL.Query().Get("dir")
	if dir != "" {
		var err error
		if dir, err = canon.Path(dir); err != nil {
			api.WriteError(w, http.StatusBadRequest, api.Error{Field: "dir", Msg: canon.Reason(err).Error(), Hint: "name a directory that exists"})
			return
		}
	}
	b, err := d.loader.View(dir).Print(false)
	if err != nil {
		api.WriteError(w, http.StatusInternalServerError, api.Error{Msg: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func (d *Daemon) postTrust(w http.ResponseWriter, r *http.Request) {
	var req api.TrustRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	if err := d.consent(r, "mcpx trust "+req.File); err != nil {
		api.WriteError(w, http.StatusForbidden, *err)
		return
	}
	if err := d.loader.Trust(req.File, req.SHA256); err != nil {
		api.WriteError(w, http.StatusConflict, api.Error{Field: "file", Msg: err.Error(), Hint: cmp.Or(config.HintOf(err), "look at it again: mcpx trust "+req.File)})
		return
	}
	d.o.Log.Info("trusted file", "dir", req.File, "pid", by(r))
	d.refresh(w, "trusted "+req.File)
}

func (d *Daemon) postUntrust(w http.ResponseWriter, r *http.Request) {
	var req api.TrustRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	if err := d.loader.Untrust(req.File); err != nil {
		api.WriteError(w, http.StatusConflict, api.Error{Field: "file", Msg: err.Error(), Hint: config.HintOf(err)})
		return
	}
	d.o.Log.Info("untrusted file", "dir", req.File, "pid", by(r))
	d.refresh(w, "no longer trusted: "+req.File)
}

// nothing reads a body that has nothing to say; a member is refused (threat T10).
func nothing(r *http.Request) *api.Error {
	if r.ContentLength == 0 {
		return nil
	}
	return api.ReadJSON(r, &struct{}{})
}

func (d *Daemon) postReload(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	d.refresh(w, "read the config again")
}

// refresh reads the config again for a caller who asked.
func (d *Daemon) refresh(w http.ResponseWriter, message string) {
	live, problems := d.reread()
	api.WriteJSON(w, http.StatusOK, api.Done{Count: live, Message: message, Problems: api.Problems(problems)})
}

func (d *Daemon) postRestart(w http.ResponseWriter, r *http.Request) {
	var req api.RestartRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	if req.Server != "" && !d.knows(req.Server) {
		api.WriteError(w, http.StatusNotFound, unknown(req.Server))
		return
	}
	n := d.servers.Restart(r.Context(), req.Server, req.Key)
	d.o.Log.Info("restarted servers", "server", req.Server, "key", req.Key, "pid", by(r))
	api.WriteJSON(w, http.StatusOK, api.Done{Count: n, Message: fmt.Sprintf("stopped %d; the next call starts what it needs", n)})
}

func unknown(server string) api.Error {
	return api.Error{
		Server: server, Msg: "no config file names this server, and none of it runs",
		Hint: "mcpx status lists the servers",
	}
}

// knows reports whether any view or instance has the server.
func (d *Daemon) knows(server string) bool {
	if d.loader.View("").Servers[server] != nil {
		return true
	}
	for _, in := range d.servers.Snapshot() {
		if in.Server == server {
			return true
		}
	}
	for _, c := range d.table.All() {
		if c.Snapshot().View.Servers[server] != nil {
			return true
		}
	}
	return false
}

func (d *Daemon) postStop(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	d.o.Log.Info("asked to stop", "pid", by(r))
	api.WriteJSON(w, http.StatusOK, api.Done{Message: "stopping"})
	_ = http.NewResponseController(w).Flush() // an idle daemon is gone before this function's return would send it
	d.stop()
}

// callers are the process that sent a request and its ancestors.
func (d *Daemon) callers(r *http.Request) []proc.Info {
	p := peer(r).PID
	start, _ := proc.StartTime(p)
	return append([]proc.Info{{ID: proc.ID{PID: p, Start: start}}}, proc.Ancestors(p, callerDepth)...)
}

// getLogs streams the last stderr lines of servers as JSON lines, and with
// ?follow=1 those to come.
func (d *Daemon) getLogs(w http.ResponseWriter, r *http.Request) {
	server := r.URL.Query().Get("server")
	if server != "" && !d.knows(server) {
		api.WriteError(w, http.StatusNotFound, unknown(server))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	put := func(l registry.LogLine) error {
		return enc.Encode(api.Log{Time: l.Time.Format(time.RFC3339Nano), Server: l.Server, Key: l.Key, PID: l.PID, Line: l.Line})
	}
	lines, cancel := d.servers.Subscribe(server)
	defer cancel()
	for _, l := range d.servers.Logs(server) {
		if put(l) != nil {
			return
		}
	}
	if r.URL.Query().Get("follow") == "" {
		return
	}
	flush := http.NewResponseController(w)
	for {
		_ = flush.Flush()
		select {
		case l, ok := <-lines:
			if !ok || put(l) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
