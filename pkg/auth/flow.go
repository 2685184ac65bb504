package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/dezren39/mcpx/pkg/remote"
)

// flowTime is how long a person has to sign in (threat T30).
const flowTime = 10 * time.Minute

// Flow is one sign-in in progress. There is one at a time for a place, whoever
// asks for it and however often (report N1).
type Flow struct {
	Target  Target
	URL     string // where the browser goes
	Issuer  string
	Origin  string // of the server
	Expires time.Time

	ready chan struct{} // closed when URL is known, or it came to nothing before
	done  chan struct{} // closed when it is over; err is set before
	err   error
}

// Done is closed when the flow is over.
func (f *Flow) Done() <-chan struct{} { return f.done }

// Err says how it went, once Done is closed.
func (f *Flow) Err() error { return f.err }

// Login begins a sign-in, or joins the one in progress, and returns when it is
// known where the browser must go. The flow belongs to the daemon: it goes on
// when whoever asked for it does not wait.
func (k *Keeper) Login(ctx context.Context, t Target) (*Flow, error) {
	p := t.place()
	k.mu.Lock()
	f := k.flows[p]
	if f == nil && k.life.Err() != nil {
		k.mu.Unlock()
		return nil, &Problem{Server: t.Server, Msg: "the daemon is stopping", Fix: "try again"}
	}
	if f == nil {
		f = &Flow{Target: t, ready: make(chan struct{}), done: make(chan struct{}), Expires: time.Now().Add(flowTime)}
		k.flows[p] = f
		k.wg.Go(func() { k.run(p, f) })
	}
	k.mu.Unlock()
	select {
	case <-f.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.URL == "" {
		<-f.done
		return nil, f.err
	}
	return f, nil
}

// run leads a flow to its end.
func (k *Keeper) run(p place, f *Flow) {
	ctx, cancel := context.WithDeadline(k.life, f.Expires)
	defer cancel()
	readied := sync.OnceFunc(func() { close(f.ready) })
	g, err := k.signIn(ctx, p, f, readied)
	if err == nil {
		if err := k.keep(p, g); err != nil {
			k.log.Warn("kept a token in memory only", "server", f.Target.Server, "err", err)
		}
	}
	if ctx.Err() != nil && k.life.Err() == nil {
		err = errors.New("nobody signed in within 10 minutes")
	}
	if err != nil {
		f.err = &Problem{Server: f.Target.Server, Msg: err.Error(), Fix: "try again: mcpx auth login " + f.Target.Server}
		k.log.Info("did not sign in", "server", f.Target.Server, "err", f.err)
	} else {
		k.log.Info("signed in", "server", f.Target.Server)
		k.changed(f.Target.Server) // before those who wait go on to use it
	}
	k.mu.Lock()
	delete(k.flows, p)
	if k.failed[p] = f.err; err == nil {
		delete(k.wanted, p)
	}
	k.mu.Unlock()
	close(f.done)
	readied()
}

func (k *Keeper) changed(server string) {
	if k.o.Changed != nil {
		k.o.Changed(server)
	}
}

// signIn is the whole of RFC 6749 §4.1 with PKCE: it listens, finds the issuer,
// registers, has the browser sent there, and trades the code for tokens.
func (k *Keeper) signIn(ctx context.Context, p place, f *Flow, ready func()) (*grant, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0") // first, so that the address is ours alone
	if err != nil {
		return nil, errors.New("no address to listen on for the answer")
	}
	c := newCallback(l)
	defer c.close()
	a, err := k.discover(ctx, f.Target)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(f.Target.URL)
	if err != nil {
		return nil, errors.New("its url is no address")
	}
	f.Issuer, f.Origin = a.Issuer, remote.Origin(server)
	g := &guard{net: k.o.Net, home: a.home}
	scopes := k.scopes(p, a)
	me, err := g.register(ctx, a, c.address(), scopes)
	if err != nil {
		return nil, err
	}
	config := me.config(c.address(), scopes)
	config.Endpoint.AuthURL = a.AuthorizationEndpoint
	verifier := oauth2.GenerateVerifier()
	f.URL = careful(config.AuthCodeURL(c.state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", a.resource)))
	c.expect(f.Target.Server, a)
	ready()

	code, err := c.wait(ctx)
	if err != nil {
		return nil, err
	}
	token, err := g.exchange(ctx, config, code, oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", a.resource))
	c.tell(err)
	if err != nil {
		return nil, err
	}
	return &grant{
		Place: p, Resource: a.resource, Issuer: a.Issuer, client: *me, Scopes: granted(token, scopes),
		Access: token.AccessToken, Refresh: token.RefreshToken, Expiry: token.Expiry, SignedIn: time.Now(),
	}, nil
}

// scopes are what the server asks for, what it missed later, and what was granted
// before; and what an issuer wants to hear before it gives a refresh token.
func (k *Keeper) scopes(p place, a *authority) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	scopes := slices.Clone(a.scopes)
	scopes = append(scopes, k.wanted[p]...)
	if g := k.entryLocked(p).grant; g != nil && g.Issuer == a.Issuer && len(k.wanted[p]) > 0 {
		scopes = append(scopes, g.Scopes...)
	}
	if slices.Contains(a.ScopesSupported, "offline_access") {
		scopes = append(scopes, "offline_access")
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(scopes, func(s string) bool {
		twice := seen[s]
		seen[s] = true
		return twice
	})
}

// register makes mcpx known to the issuer, for this flow's address: a public
// client, which has no secret that it could lose (RFC 7591).
func (g *guard) register(ctx context.Context, a *authority, redirect string, scopes []string) (*client, error) {
	if a.RegistrationEndpoint == "" {
		return nil, errors.New("the issuer registers no programs by itself, and mcpx is not known to it")
	}
	resp, err := oauthex.RegisterClient(ctx, a.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none", ClientName: "mcpx", ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, Scope: strings.Join(scopes, " "),
	}, g.client())
	var refused *oauthex.ClientRegistrationError
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("the issuer did not register mcpx: %s", word(refused.ErrorCode))
	case err != nil: // it may quote what the issuer wrote
		return nil, errors.New("the issuer did not register mcpx")
	}
	return &client{
		ID: resp.ClientID, Secret: resp.ClientSecret,
		SecretInHeader: resp.ClientSecret != "" && resp.TokenEndpointAuthMethod != "client_secret_post",
		TokenEndpoint:  a.TokenEndpoint, RevocationEndpoint: a.RevocationEndpoint, Home: a.home,
	}, nil
}

// careful writes the address so that nothing in it means anything to a shell,
// should the program that opens it be a script.
func careful(address string) string {
	const plain = "-._~:/?&=%+"
	var b strings.Builder
	scheme, rest, _ := strings.Cut(address, "://")
	host := strings.IndexAny(rest, "/?") // of checked characters
	if host < 0 {
		host = len(rest)
	}
	b.WriteString(scheme + "://" + rest[:host])
	for _, c := range []byte(rest[host:]) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// secret256 is 256 bits that nobody can guess.
func secret256() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Wait returns how the flow in progress for a target went, or the last one, when
// it is over; nil when there was none.
func (k *Keeper) Wait(ctx context.Context, t Target) error {
	p := t.place()
	k.mu.Lock()
	f, last := k.flows[p], k.failed[p]
	k.mu.Unlock()
	if f == nil {
		return last
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Busy reports whether anybody is being waited for.
func (k *Keeper) Busy() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.flows) > 0
}
