package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/remote"
)

// authority is who signs people in for a server, as its validated document says.
type authority struct {
	oauthex.AuthServerMeta
	home     kind
	resource string
	scopes   []string
}

// probe is a request that a server which wants a sign-in refuses.
const probe = `{"jsonrpc":"2.0","id":"mcpx-probe","method":"server/discover","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"` + era.ModernVersion + `","io.modelcontextprotocol/clientCapabilities":{}}}}`

// discover finds who signs people in at the target: it asks the server, reads its
// own document, and that of the issuer which it names (RFC 9728, RFC 8414).
func (k *Keeper) discover(ctx context.Context, t Target) (*authority, error) {
	server, err := url.Parse(t.URL)
	if err != nil {
		return nil, errors.New("its url is no address")
	}
	server.User = nil
	challenge, home, err := k.challenge(ctx, server)
	if err != nil {
		return nil, err
	}
	g := &guard{net: k.o.Net, home: home}
	meta, err := g.resource(ctx, server, challenge["resource_metadata"])
	if err != nil {
		return nil, err
	}
	for _, issuer := range meta.AuthorizationServers {
		var asm *oauthex.AuthServerMeta
		if asm, err = g.issuer(ctx, issuer); err == nil {
			a := &authority{AuthServerMeta: *asm, home: home, resource: meta.Resource, scopes: strings.Fields(challenge["scope"])}
			if len(a.scopes) == 0 {
				a.scopes = meta.ScopesSupported
			}
			return a, nil
		}
	}
	return nil, err
}

// challenge asks the server without credentials. It also learns what kind of
// address the server has, from the connection itself and not from its name.
func (k *Keeper) challenge(ctx context.Context, server *url.URL) (map[string]string, kind, error) {
	g := &guard{net: k.o.Net, any: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.String(), strings.NewReader(probe))
	if err != nil {
		return nil, public, errors.New("its url is no address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", era.ModernVersion)
	req.Header.Set("Mcp-Method", "server/discover")
	resp, err := g.client().Do(req)
	if err != nil {
		return nil, public, errors.New("the server " + why(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil, public, errors.New("the server answers without one")
	}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, g.met, nil // the documents may be where they should be
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			return c.Params, g.met, nil
		}
	}
	return nil, g.met, nil
}

// resource reads the document in which the server names its issuers: where the
// challenge says, else where it belongs. A server without one is its own issuer,
// as it was before there were such documents.
func (g *guard) resource(ctx context.Context, server *url.URL, named string) (*oauthex.ProtectedResourceMetadata, error) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	origin := remote.Origin(server)
	candidates := []string{origin + wellKnown}
	if path := strings.TrimSuffix(server.EscapedPath(), "/"); path != "" {
		candidates = slices.Insert(candidates, 0, origin+wellKnown+path)
	}
	if named != "" {
		candidates = slices.Insert(candidates, 0, named)
	}
	var failed error
	for _, address := range candidates {
		var m oauthex.ProtectedResourceMetadata
		found, err := g.document(ctx, "the address of the server's metadata", address, &m)
		if err == nil && found {
			if err = covers(m.Resource, server); err == nil && len(m.AuthorizationServers) == 0 {
				err = errors.New("the server's metadata names nobody to sign in at")
			}
		}
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case found:
			return &m, nil
		}
	}
	if failed != nil {
		return nil, first(failed)
	}
	return &oauthex.ProtectedResourceMetadata{Resource: origin + server.EscapedPath(), AuthorizationServers: []string{origin}}, nil
}

// first is the first of joined errors: what went wrong where it should have worked.
func first(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()[0]
	}
	return err
}

// covers holds that a token for resource is one for the server and nobody else.
func covers(resource string, server *url.URL) error {
	u, err := url.Parse(resource)
	if err != nil || remote.Origin(u) != remote.Origin(server) || u.User != nil || u.Fragment != "" || u.RawQuery != "" {
		return errors.New("the server's metadata is that of another server")
	}
	above, below := strings.TrimSuffix(u.EscapedPath(), "/"), strings.TrimSuffix(server.EscapedPath(), "/")
	if below != above && !strings.HasPrefix(below, above+"/") {
		return errors.New("the server's metadata is that of another server")
	}
	return nil
}

// issuer reads an issuer's document and holds it to what mcpx needs of it.
func (g *guard) issuer(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	u, err := checkAddress("the issuer", issuer, g.home)
	if err != nil {
		return nil, err
	}
	origin, path := remote.Origin(u), strings.TrimSuffix(u.EscapedPath(), "/")
	candidates := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + "/.well-known/openid-configuration" + path}
	if path != "" {
		candidates = append(candidates, origin+path+"/.well-known/openid-configuration")
	}
	for _, address := range candidates {
		var m oauthex.AuthServerMeta
		found, err := g.document(ctx, "the address of the issuer's metadata", address, &m)
		if err != nil {
			return nil, err
		}
		if found {
			return &m, g.check(&m, issuer)
		}
	}
	return nil, fmt.Errorf("the issuer %s says nothing of itself", origin)
}

// check holds an issuer's document to its issuer, PKCE, and addresses that may
// be asked.
func (g *guard) check(m *oauthex.AuthServerMeta, issuer string) error {
	if strings.TrimSuffix(m.Issuer, "/") != strings.TrimSuffix(issuer, "/") {
		return errors.New("the issuer's metadata is that of another issuer")
	}
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return errors.New("the issuer does not offer PKCE with S256, without which a code could be stolen")
	}
	if len(m.ResponseTypesSupported) > 0 && !slices.Contains(m.ResponseTypesSupported, "code") {
		return errors.New("the issuer gives no authorization codes")
	}
	for _, e := range []struct{ name, address string }{
		{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint},
		{"registration_endpoint", m.RegistrationEndpoint}, {"revocation_endpoint", m.RevocationEndpoint},
	} {
		if e.address == "" && (e.name == "registration_endpoint" || e.name == "revocation_endpoint") {
			continue
		}
		if _, err := checkAddress("the issuer's "+e.name, e.address, g.home); err != nil {
			return err
		}
	}
	return nil
}

// document reads a JSON document; found is false where there is none.
func (g *guard) document(ctx context.Context, what, address string, v any) (found bool, err error) {
	u, err := checkAddress(what, address, g.home)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, fmt.Errorf("%s is no address", what)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := g.client().Do(req)
	if err != nil {
		return false, fmt.Errorf("%s %s", remote.Origin(u), why(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s answered %d", remote.Origin(u), resp.StatusCode)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, fmt.Errorf("%s %s", remote.Origin(u), why(err))
	}
	if json.Unmarshal(body, v) != nil {
		return false, fmt.Errorf("%s answered with something that is not JSON", remote.Origin(u))
	}
	return true, nil
}
