package remote

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// credentials are what one request carries: the configured headers, and the
// token of a sign-in, which the configured Authorization makes needless.
type credentials struct {
	header http.Header // never changed once made
	token  string
}

// keyring has the credentials of one server and gets fresh ones.
type keyring struct {
	plan   spawn.Plan
	child  child.Options
	tokens Tokens // nil: none, or Authorization is configured
	basic  string

	renewing sync.Mutex // one at a time renews

	mu     sync.Mutex // guards what follows
	header http.Header
	hide   *strings.Replacer
}

// newKeyring reads the secrets. An error names the server and the field.
func newKeyring(ctx context.Context, p spawn.Plan, t target, o Options) (*keyring, error) {
	k := &keyring{plan: p, child: o.Child, tokens: o.Tokens, basic: t.basic}
	if err := k.read(ctx); err != nil {
		return nil, err
	}
	if k.header.Get("Authorization") != "" {
		k.tokens = nil
	}
	return k, nil
}

// read reads the configured headers and secrets anew.
func (k *keyring) read(ctx context.Context) error {
	secrets := map[string]string{}
	if len(k.plan.Secrets) > 0 { // nothing else needs the base environment
		var err error
		if secrets, err = child.Secrets(ctx, k.plan, k.child); err != nil {
			return err
		}
	}
	header, hidden := http.Header{}, queryValues(k.plan.URL)
	set := func(name, value string) {
		header.Set(name, value)
		hidden = append(hidden, value, afterScheme(value))
	}
	if k.basic != "" {
		set("Authorization", k.basic)
	}
	for _, name := range slices.Sorted(maps.Keys(k.plan.Headers)) {
		set(name, k.plan.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if strings.ContainsAny(secrets[name], "\r\n") {
			return config.Problem{Server: k.plan.Server, Field: "mcpx.secrets." + name, Msg: "holds a line break", Hint: "a header is one line"}
		}
		set(name, secrets[name])
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.header, k.hide = header, hiding(hidden)
	return nil
}

// now are the credentials to use.
func (k *keyring) now(ctx context.Context) (credentials, *trouble) {
	k.mu.Lock()
	c := credentials{header: k.header}
	k.mu.Unlock()
	if k.tokens == nil {
		return c, nil
	}
	var err error
	if c.token, err = k.tokens.Token(ctx); err != nil {
		return c, &trouble{msg: err.Error(), hint: config.HintOf(err)}
	}
	return c, nil
}

// renew is called when the server refused used, and says whether there are
// others to try. Only the first to come does the work.
func (k *keyring) renew(ctx context.Context, used credentials) (again bool, t *trouble) {
	k.renewing.Lock()
	defer k.renewing.Unlock()
	if len(k.plan.Secrets) > 0 {
		if err := k.read(ctx); err != nil {
			return false, &trouble{msg: err.Error(), hint: config.HintOf(err)}
		}
	}
	k.mu.Lock()
	changed := !reflect.DeepEqual(k.header, used.header)
	k.mu.Unlock()
	if changed || k.tokens == nil {
		return changed, nil
	}
	fresh, err := k.tokens.Refused(ctx, used.token)
	if err != nil {
		return false, &trouble{msg: err.Error(), hint: config.HintOf(err)}
	}
	return fresh != "" && fresh != used.token, nil
}

// configured reports whether the config gives any credentials.
func (k *keyring) configured() bool {
	return k.basic != "" || len(k.plan.Headers)+len(k.plan.Secrets) > 0
}

// mask hides what the server was given in what it says (threat T28).
func (k *keyring) mask(text string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hide.Replace(text)
}

// hiding replaces values, the longest first; short ones cannot be told from
// others that happen to be the same.
func hiding(values []string) *strings.Replacer {
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < 4 })
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, "•••")
	}
	return strings.NewReplacer(pairs...)
}

// afterScheme is the part of an Authorization that is secret by itself.
func afterScheme(value string) string {
	_, rest, _ := strings.Cut(value, " ")
	return strings.TrimSpace(rest)
}

func queryValues(address string) (values []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	for _, all := range u.Query() {
		values = append(values, all...)
	}
	if password, ok := u.User.Password(); ok {
		values = append(values, password)
	}
	return values
}
