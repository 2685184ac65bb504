package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/dezren39/mcpx/pkg/remote"
)

// early is how long before its end a token is refreshed.
const early = 30 * time.Second

// Tokens is the sign-in at a target, as remote asks for it.
func (k *Keeper) Tokens(t Target) *Source { return &Source{k, t, t.place()} }

// Source has the tokens of one target. All sources of a place share them.
type Source struct {
	k      *Keeper
	target Target
	place  place
}

var _ remote.Tokens = (*Source)(nil)

// Token is the token to send, refreshed when it is about to end; "" when nobody
// is signed in.
func (s *Source) Token(ctx context.Context) (string, error) {
	_, g := s.k.look(s.place)
	switch {
	case g == nil:
		return "", nil
	case g.Refresh == "", g.Expiry.IsZero(), time.Now().Before(g.Expiry.Add(-early)):
		return g.Access, nil
	}
	fresh, err := s.refresh(ctx, g.Access)
	if err != nil && time.Now().Before(g.Expiry) {
		return g.Access, nil // it is good for a moment yet
	}
	return fresh, err
}

// Refused returns the token to try in place of one that the server refused, ""
// when somebody has to sign in.
func (s *Source) Refused(ctx context.Context, token string) (string, error) {
	return s.refresh(ctx, token)
}

// Missing notes a scope that the server wants, for the next sign-in.
func (s *Source) Missing(scope string) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	s.k.wanted[s.place] = strings.Fields(scope)
}

// refresh gets a token in place of old. It is not given up when its caller is: the
// issuer may have replaced the refresh token already.
func (s *Source) refresh(ctx context.Context, old string) (string, error) {
	type got struct {
		token string
		err   error
	}
	ch := make(chan got, 1)
	if !s.k.goes(func() {
		token, err := s.refreshNow(old)
		ch <- got{token, err}
	}) {
		return "", context.Canceled
	}
	select {
	case g := <-ch:
		return g.token, g.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// refreshNow refreshes, if nobody has meanwhile: one at a time does, the others
// get what it got.
func (s *Source) refreshNow(old string) (string, error) {
	e, _ := s.k.look(s.place)
	e.refreshing.Lock()
	defer e.refreshing.Unlock()
	_, g := s.k.look(s.place)
	switch {
	case g == nil:
		return "", nil
	case g.Access != old:
		return g.Access, nil
	case g.Refresh == "":
		return "", s.k.keep(s.place, nil)
	}
	token, err := g.refreshed(s.k.life, s.k.o.Net)
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode < 500 && refused.Response.StatusCode != http.StatusTooManyRequests:
		s.k.log.Info("ended sign-in: its refresh was refused", "server", s.target.Server, "err", word(refused.ErrorCode))
		return "", s.k.keep(s.place, nil)
	case err != nil:
		return "", &Problem{Server: s.target.Server, Msg: "the token could not be refreshed: " + spoken(err), Fix: "it is tried again with the next call"}
	}
	next := *g
	next.Access, next.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		next.Refresh = token.RefreshToken
	}
	if err := s.k.keep(s.place, &next); err != nil {
		s.k.log.Warn("kept a token in memory only", "server", s.target.Server, "err", err)
	}
	return next.Access, nil
}

// refreshed asks the issuer for a new token.
func (g *grant) refreshed(ctx context.Context, net Net) (*oauth2.Token, error) {
	// What is a code elsewhere is empty here: "parameters sent without a value
	// MUST be treated as if they were omitted" (RFC 6749 §3.2).
	return (&guard{net: net, home: g.Home}).exchange(ctx, g.config("", nil), "",
		oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", g.Refresh),
		oauth2.SetAuthURLParam("resource", g.Resource))
}

// config is mcpx to the issuer, in the words of package oauth2.
func (c *client) config(redirect string, scopes []string) *oauth2.Config {
	style := oauth2.AuthStyleInParams // never found out by trying: a code is good once
	if c.SecretInHeader {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{TokenURL: c.TokenEndpoint, AuthStyle: style},
	}
}

// exchange asks the token endpoint.
func (g *guard) exchange(ctx context.Context, c *oauth2.Config, code string, opts ...oauth2.AuthCodeOption) (*oauth2.Token, error) {
	token, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, g.client()), code, opts...)
	switch {
	case err != nil:
		return nil, &exchangeError{err}
	case !strings.EqualFold(token.Type(), "bearer"):
		return nil, errors.New("the issuer gave a token of a kind that mcpx cannot send")
	case strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the issuer gave a token that no header can hold")
	}
	return token, nil
}

// exchangeError keeps what the issuer wrote to itself: it may quote a code.
type exchangeError struct{ err error }

func (e *exchangeError) Error() string { return "the issuer gave no token: " + spoken(e.err) }
func (e *exchangeError) Unwrap() error { return e.err }

// spoken is an error of package oauth2 or of the network without what was sent
// and received.
func spoken(err error) string {
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode != "":
		return word(refused.ErrorCode)
	case errors.As(err, &refused):
		return fmt.Sprintf("it answered %d", refused.Response.StatusCode)
	}
	return why(err)
}

// granted are the scopes of a token: those asked for, unless it says otherwise.
func granted(token *oauth2.Token, asked []string) []string {
	if said, ok := token.Extra("scope").(string); ok {
		return strings.Fields(said)
	}
	return asked
}

// Logout ends the sign-in at a target: its issuer is told, and nothing of it is
// kept. It is false when nobody was signed in. The error is the issuer's: what
// was kept here is gone all the same.
func (k *Keeper) Logout(ctx context.Context, t Target) (bool, error) {
	p := t.place()
	_, g := k.look(p)
	if g == nil {
		return false, nil
	}
	err := k.forget(ctx, p, g)
	k.log.Info("signed out", "server", t.Server)
	k.changed(t.Server)
	if err != nil {
		err = &Problem{Server: t.Server, Msg: err.Error()}
	}
	return true, err
}

// LogoutAll ends every sign-in that is kept, also those at servers that no config
// names any more, and says how many there were. changed are the servers to tell.
func (k *Keeper) LogoutAll(ctx context.Context, changed []string) (int, error) {
	k.mu.Lock()
	kept := map[place]*grant{}
	for p, e := range k.grants {
		if e.grant != nil {
			kept[p] = e.grant
		}
	}
	k.mu.Unlock()
	var failed error
	for p, g := range kept {
		if err := k.forget(ctx, p, g); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.At, err))
		}
	}
	k.log.Info("signed out everywhere")
	for _, server := range changed {
		k.changed(server)
	}
	return len(kept), failed
}

// forget drops a grant and tells its issuer.
func (k *Keeper) forget(ctx context.Context, p place, g *grant) error {
	if err := k.keep(p, nil); err != nil {
		return err
	}
	if g.RevocationEndpoint == "" {
		return nil
	}
	for _, revoked := range []struct{ token, hint string }{{g.Refresh, "refresh_token"}, {g.Access, "access_token"}} {
		if revoked.token == "" {
			continue
		}
		if err := g.revoke(ctx, k.o.Net, revoked.token, revoked.hint); err != nil {
			return errors.New("its issuer was not told that the token is of no more use: " + err.Error())
		}
	}
	return nil
}

// revoke tells the issuer that a token is of no more use (RFC 7009).
func (g *grant) revoke(ctx context.Context, net Net, token, hint string) error {
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	if !g.SecretInHeader {
		form.Set("client_id", g.ID)
		if g.Secret != "" {
			form.Set("client_secret", g.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("no address")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.SecretInHeader {
		req.SetBasicAuth(url.QueryEscape(g.ID), url.QueryEscape(g.Secret))
	}
	resp, err := (&guard{net: net, home: g.Home}).client().Do(req)
	if err != nil {
		return errors.New("it " + why(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("it answered %d", resp.StatusCode)
	}
	return nil
}

// Standing is how things stand with a target.
type Standing struct {
	SignedIn bool
	Issuer   string
	Scopes   []string
	Expiry   time.Time // of the token; zero when it has no end or nobody is signed in
	Renews   bool      // it is refreshed by itself
	Pending  string    // where the browser must go for the flow in progress; "" when none is

	PendingAt string // the issuer of that flow
}

// Standing says how things stand with a target.
func (k *Keeper) Standing(t Target) Standing {
	p := t.place()
	k.mu.Lock()
	defer k.mu.Unlock()
	var s Standing
	if f := k.flows[p]; f != nil {
		select {
		case <-f.ready:
			s.Pending, s.PendingAt = f.URL, f.Issuer
		default:
		}
	}
	if g := k.entryLocked(p).grant; g != nil {
		s.SignedIn, s.Issuer, s.Scopes, s.Expiry, s.Renews = true, g.Issuer, g.Scopes, g.Expiry, g.Refresh != ""
	}
	return s
}
