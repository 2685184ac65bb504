package api

import (
	"context"
	"net/url"
	"time"
)

// AuthRequest is POST /v1/auth/{server}/login and …/logout: the directory whose
// view of the config has the server, "" for the user's own.
type AuthRequest struct {
	Dir string `json:"dir,omitempty"`
}

// AuthStatus is how things stand with the sign-in at one remote server.
type AuthStatus struct {
	Server  string    `json:"server"`
	Origin  string    `json:"origin"`        // of its url
	State   string    `json:"state"`         // signed-out pending signed-in
	URL     string    `json:"url,omitempty"` // where the browser must go, while pending
	Issuer  string    `json:"issuer,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of the token
	Renews  bool      `json:"renews"`           // it is refreshed by itself
}

// Login is POST /v1/auth/{server}/login: it begins a sign-in or joins the one in
// progress.
func (c *Client) Login(ctx context.Context, server, dir string) (*AuthStatus, error) {
	return ask[AuthStatus](ctx, c, "POST", "/v1/auth/"+url.PathEscape(server)+"/login", AuthRequest{Dir: dir})
}

// Logout is POST /v1/auth/{server}/logout.
func (c *Client) Logout(ctx context.Context, server, dir string) (*Done, error) {
	return ask[Done](ctx, c, "POST", "/v1/auth/"+url.PathEscape(server)+"/logout", AuthRequest{Dir: dir})
}

// LogoutAll is POST /v1/auth/logout.
func (c *Client) LogoutAll(ctx context.Context) (*Done, error) {
	return ask[Done](ctx, c, "POST", "/v1/auth/logout", struct{}{})
}

// AuthWait is GET /v1/auth/{server}?wait=1: how things stand once the sign-in in
// progress is over. One that came to nothing is a *Refusal.
func (c *Client) AuthWait(ctx context.Context, server, dir string) (*AuthStatus, error) {
	query := url.Values{"dir": {dir}, "wait": {"1"}}
	return ask[AuthStatus](ctx, c, "GET", "/v1/auth/"+url.PathEscape(server)+"?"+query.Encode(), nil)
}

// Auth is GET /v1/auth: all remotes of a directory's view.
func (c *Client) Auth(ctx context.Context, dir string) ([]AuthStatus, error) {
	all, err := ask[[]AuthStatus](ctx, c, "GET", "/v1/auth?"+url.Values{"dir": {dir}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return *all, nil
}
