package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/auth"
	"github.com/dezren39/mcpx/pkg/canon"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/remote"
)

// tokens are the sign-in at a remote, nil where nobody can sign in.
func (d *Daemon) tokens(s *config.Resolved) remote.Tokens {
	if d.auth == nil {
		return nil
	}
	return d.auth.Tokens(auth.TargetOf(s))
}

// signedIn has the next call at a server use the new sign-in, or do without: its
// connections end, its back-off is forgotten, and hosts that were given no list
// ask again.
func (d *Daemon) signedIn(server string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	d.servers.Restart(ctx, server, "")
	for _, c := range d.table.All() {
		if s := c.Snapshot().View.Servers[server]; s != nil {
			c.ListsChanged(s.Definition(), []string{"tools", "prompts", "resources"})
		}
	}
}

// remoteOf is the remote of this name in the view of the directory that a request
// names, as the config has it: no route takes a url (threat T10).
func (d *Daemon) remoteOf(name, dir string) (*config.Resolved, int, *api.Error) {
	if dir != "" {
		var err error
		if dir, err = canon.Path(dir); err != nil {
			return nil, http.StatusBadRequest, &api.Error{Field: "dir", Msg: canon.Reason(err).Error(), Hint: "name a directory that exists"}
		}
	}
	s := d.loader.View(dir).Servers[name]
	switch {
	case s == nil:
		e := unknown(name)
		return nil, http.StatusNotFound, &e
	case s.URL == "":
		return nil, http.StatusConflict, &api.Error{Server: name, Msg: "is a program on this machine: nobody signs in at it", Hint: `give it what it needs in "env" or "secrets"`}
	case d.auth == nil:
		return nil, http.StatusConflict, &api.Error{Server: name, Msg: "this daemon can keep no sign-in", Hint: "mcpx logs and the daemon's own log say why"}
	}
	return s, 0, nil
}

func (d *Daemon) postLogin(w http.ResponseWriter, r *http.Request) {
	d.authorise(w, r, func(ctx context.Context, s *config.Resolved) (any, error) {
		if _, err := d.auth.Login(ctx, auth.TargetOf(s)); err != nil {
			return nil, err
		}
		d.o.Log.Info("began sign-in", "server", s.Name, "pid", by(r))
		return d.standing(s), nil
	})
}

func (d *Daemon) postLogout(w http.ResponseWriter, r *http.Request) {
	d.authorise(w, r, func(ctx context.Context, s *config.Resolved) (any, error) {
		was, err := d.auth.Logout(ctx, auth.TargetOf(s))
		done := api.Done{Message: "nobody was signed in at " + s.Name}
		if was {
			done = api.Done{Count: 1, Message: "signed out of " + s.Name}
		}
		if err != nil {
			done.Problems = []api.Problem{{Server: s.Name, Message: err.Error(), Hint: config.HintOf(err), Warning: true}}
		}
		return done, nil
	})
}

// postLogoutAll ends every sign-in there is.
func (d *Daemon) postLogoutAll(w http.ResponseWriter, r *http.Request) {
	if err := nothing(r); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	done := api.Done{Message: "nobody was signed in"}
	if d.auth != nil {
		n, err := d.auth.LogoutAll(r.Context(), d.loader.View("").Names)
		if n > 0 {
			done = api.Done{Count: n, Message: fmt.Sprintf("signed out, %d in all", n)}
		}
		if err != nil {
			done.Problems = []api.Problem{{Message: err.Error(), Warning: true}}
		}
	}
	api.WriteJSON(w, http.StatusOK, done)
}

// authorise answers a change of one server's sign-in.
func (d *Daemon) authorise(w http.ResponseWriter, r *http.Request, do func(context.Context, *config.Resolved) (any, error)) {
	var req api.AuthRequest
	if err := api.ReadJSON(r, &req); err != nil {
		api.WriteError(w, http.StatusBadRequest, *err)
		return
	}
	s, status, refused := d.remoteOf(r.PathValue("server"), req.Dir)
	if refused != nil {
		api.WriteError(w, status, *refused)
		return
	}
	answer, err := do(r.Context(), s)
	if err != nil {
		api.WriteError(w, http.StatusBadGateway, api.Error{Server: s.Name, Msg: err.Error(), Hint: config.HintOf(err)})
		return
	}
	api.WriteJSON(w, http.StatusOK, answer)
}

// getAuthOf is how things stand with one server (?dir=); with ?wait= once the
// sign-in in progress is over.
func (d *Daemon) getAuthOf(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s, status, refused := d.remoteOf(r.PathValue("server"), q.Get("dir"))
	if refused != nil {
		api.WriteError(w, status, *refused)
		return
	}
	if q.Get("wait") != "" {
		if err := d.auth.Wait(r.Context(), auth.TargetOf(s)); err != nil {
			api.WriteError(w, http.StatusConflict, api.Error{Server: s.Name, Msg: err.Error(), Hint: config.HintOf(err)})
			return
		}
	}
	api.WriteJSON(w, http.StatusOK, d.standing(s))
}

// getAuth is how things stand with every remote (?dir=).
func (d *Daemon) getAuth(w http.ResponseWriter, r *http.Request) {
	all := []api.AuthStatus{}
	dir := r.URL.Query().Get("dir")
	for _, name := range d.loader.View(dir).Names {
		if s, _, refused := d.remoteOf(name, dir); refused == nil {
			all = append(all, d.standing(s))
		}
	}
	api.WriteJSON(w, http.StatusOK, all)
}

func (d *Daemon) standing(s *config.Resolved) api.AuthStatus {
	t := d.auth.Standing(auth.TargetOf(s))
	st := api.AuthStatus{Server: s.Name, State: "signed-out", Issuer: t.Issuer, Scopes: t.Scopes, Expires: t.Expiry, Renews: t.Renews, URL: t.Pending}
	if u, err := url.Parse(s.URL); err == nil {
		st.Origin = remote.Origin(u)
	}
	switch {
	case t.Pending != "":
		st.State, st.Issuer = "pending", t.PendingAt
	case t.SignedIn:
		st.State = "signed-in"
	}
	return st
}
