package api

import (
	"context"
	"net/url"

	"github.com/dezren39/mcpx/pkg/visibility"
)

// Rules is GET /v1/rules and the answer of PUT: the document that is in force.
type Rules struct {
	Path     string           `json:"path"`
	Exists   bool             `json:"exists"`
	Broken   bool             `json:"broken"`  // it cannot be used, and Default is what holds
	OnError  string           `json:"onError"` // what a broken one counts as: open, all is seen; closed, nothing
	Live     bool             `json:"applyToRunningSessions"`
	Default  visibility.Allow `json:"default"` // "*", or names
	Rules    []Rule           `json:"rules"`
	Problems []Problem        `json:"problems"`
	Sees     []Sees           `json:"sees"` // of the directories asked for (?dir=, as often as wanted)
}

// Rule is one row of the document.
type Rule struct {
	Path    string           `json:"path"`
	Servers visibility.Allow `json:"servers"`
}

// Sees is what a session in a directory would see.
type Sees struct {
	Dir     string           `json:"dir"`
	Rule    *string          `json:"rule"` // null: the default decides
	Servers visibility.Allow `json:"servers"`
	Badge   string           `json:"badge"`
	Visible []string         `json:"visible"`
	Hidden  []string         `json:"hidden"`
	Missing []string         `json:"missing"`
}

// RulesRequest is PUT /v1/rules: one change. ?dir= as for GET.
type RulesRequest struct {
	Op      string           `json:"op"` // set, unset; default
	Path    string           `json:"path,omitempty"`
	Servers visibility.Allow `json:"servers"`
	Dry     bool             `json:"dry,omitempty"` // change nothing: the answer is what would hold
}

// Rules is GET /v1/rules.
func (c *Client) Rules(ctx context.Context, dirs ...string) (*Rules, error) {
	return ask[Rules](ctx, c, "GET", "/v1/rules?"+url.Values{"dir": dirs}.Encode(), nil)
}

// EditRules is PUT /v1/rules.
func (c *Client) EditRules(ctx context.Context, r RulesRequest) (*Rules, error) {
	return ask[Rules](ctx, c, "PUT", "/v1/rules", r)
}
