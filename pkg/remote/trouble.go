package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/dezren39/mcpx/pkg/wire"
)

// trouble is why something was not answered, in words that hold no secret.
type trouble struct {
	msg    string
	hint   string
	reason string // data.mcpx.reason; msg when empty
	fatal  bool   // the connection is of no more use
}

const needsSignIn = "needs sign-in"

func signIn(server string) *trouble {
	cmd := "mcpx auth login " + server
	return &trouble{msg: needsSignIn + ": " + cmd, hint: cmd, reason: needsSignIn, fatal: true}
}

// network explains why there was no answer at all.
func network(origin string, err error) *trouble {
	t := &trouble{hint: "is the server running, and is its url right?"}
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		t.msg = "its host has no address: " + dns.Err
		if dns.IsTimeout {
			t.msg = "its host's address could not be looked up in time"
		}
	case errors.As(err, &cert):
		t.msg, t.hint = "its certificate is not accepted: "+cert.Err.Error(), "mcpx trusts what this system trusts"
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			t.msg = "its certificate is signed by nobody this system trusts"
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		t.msg = "did not answer in time"
	case errors.As(err, &op) && op.Op == "dial":
		t.msg = "could not be reached: " + op.Err.Error()
		if op.Timeout() {
			t.msg = "could not be reached in time"
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		t.msg, t.hint = "the connection was closed before the answer", ""
	case strings.Contains(err.Error(), "malformed HTTP"):
		t.msg = "does not speak HTTP"
	case strings.Contains(err.Error(), "headers exceeded"):
		t.msg, t.hint = "its headers are over the limit of "+strconv.Itoa(maxHeader)+" bytes", ""
	default:
		t.msg, t.hint = "the connection broke before the answer: "+strings.TrimPrefix(err.Error(), "net/http: "), ""
	}
	t.msg = origin + ": " + t.msg
	return t
}

// refusal explains an HTTP status that is no success. What the server wrote
// beside it is not told: nobody knows what is in it.
func refusal(server, origin string, signsIn bool, resp *http.Response) *trouble {
	code := resp.StatusCode
	t := &trouble{msg: fmt.Sprintf("%s answered %s", origin, statusText(code))}
	switch {
	case code >= 300 && code < 400:
		t.msg += ", a redirect, and those are not followed"
		t.hint = `write the address that it has now as "url"`
		if to, err := resp.Location(); err == nil && to.Host != "" {
			t.msg = fmt.Sprintf("%s answered %s to %s, and redirects are not followed", origin, statusText(code), Origin(to))
		}
	case code == http.StatusForbidden:
		t.hint = "whoever signed in, or the credentials of the config, may not do this"
		if scope, ok := missingScope(resp.Header); ok {
			t.msg = fmt.Sprintf("%s: the credentials do not cover this: it needs the scope %q", origin, scope)
			if signsIn {
				t.hint = "sign in again: mcpx auth login " + server
			}
		}
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		t.hint = "is the path of its url right?"
	}
	if after := retryAfter(resp.Header, time.Now()); after > 0 {
		t.msg += fmt.Sprintf("; it asks to wait for %v", after)
	}
	return t
}

func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// retryAfter is how long the server asks to be left alone, 0 when it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now).Round(time.Second)
	}
	return 0
}

// missingScope is the scope that a 403 asks for (RFC 6750 §3.1).
func missingScope(h http.Header) (string, bool) {
	challenges, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return "", false
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return plain(c.Params["scope"]), true
		}
	}
	return "", false
}

// asksToSignIn reports whether a 401 is one that a sign-in can answer.
func asksToSignIn(h http.Header) bool {
	for _, v := range h.Values("WWW-Authenticate") {
		if scheme, _, _ := strings.Cut(strings.TrimSpace(v), " "); strings.EqualFold(scheme, "bearer") {
			return true
		}
	}
	return false
}

// plain keeps a server's word short and printable.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), 120)]
}

// sameOrigin reports whether a GET may be led from one address to another.
func sameOrigin(a, b *url.URL) bool { return Origin(a) == Origin(b) }

// code is the JSON-RPC code of an error of mcpx's own.
const code = wire.CodeInternal
