package api

import (
	"context"
	"net/url"
)

// SwitchRequest is PUT /v1/sessions/{id}/visible: what is done to the session's
// switch. DELETE there is reset.
type SwitchRequest struct {
	Op      string   `json:"op"` // allow, deny, only, none, all, reset
	Servers []string `json:"servers,omitempty"`
}

// RootsRequest is PUT /v1/sessions/{id}/roots: what is done to the session's roots.
type RootsRequest struct {
	Op   string   `json:"op"` // add, remove, set, reset
	Dirs []string `json:"dirs,omitempty"`
}

// Sessions is GET /v1/sessions: those of GET /v1/status.
func (c *Client) Sessions(ctx context.Context) ([]SessionStatus, error) {
	s, err := ask[[]SessionStatus](ctx, c, "GET", "/v1/sessions", nil)
	if err != nil {
		return nil, err
	}
	return *s, nil
}

// Switch is PUT /v1/sessions/{id}/visible; the answer is what the session sees then.
func (c *Client) Switch(ctx context.Context, id string, r SwitchRequest) (*SessionStatus, error) {
	return ask[SessionStatus](ctx, c, "PUT", "/v1/sessions/"+url.PathEscape(id)+"/visible", r)
}

// Roots is PUT /v1/sessions/{id}/roots; the answer is where the session stands then.
func (c *Client) Roots(ctx context.Context, id string, r RootsRequest) (*SessionStatus, error) {
	return ask[SessionStatus](ctx, c, "PUT", "/v1/sessions/"+url.PathEscape(id)+"/roots", r)
}
