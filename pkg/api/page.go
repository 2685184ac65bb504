package api

import "context"

// Link is the answer of POST /v1/ui: a way into the page, good once and for a
// minute.
type Link struct {
	Address string `json:"address"` // with the code that opens it
	File    string `json:"file"`    // leads a browser to the address, and is private to this user
}

// OpenPage is POST /v1/ui: it has the page served, if it is not yet.
func (c *Client) OpenPage(ctx context.Context) (*Link, error) {
	return ask[Link](ctx, c, "POST", "/v1/ui", struct{}{})
}
