package remote

import (
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// target is where a server is. Only its origin may be told to anybody: userinfo
// and query are as secret as a header (threat T28).
type target struct {
	endpoint *url.URL // without userinfo and fragment
	origin   string
	basic    string // the Authorization that userinfo stands for, "" without
}

func newTarget(p spawn.Plan) (target, error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return target{}, config.Problem{Server: p.Server, Field: "url", Msg: "not an http or https address", Hint: `write it out: "https://host/path"`}
	}
	t := target{origin: Origin(u)}
	if u.User != nil {
		password, _ := u.User.Password()
		t.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	t.endpoint = u
	return t, nil
}

// Origin is the scheme, host and port of an address, without what goes by itself.
func Origin(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

// idleTime is how long an unused connection is kept: less than servers keep theirs
// (Node's 5 s), or a call would now and then meet one that is being closed, and
// nobody could say whether it was carried out.
const idleTime = 4 * time.Second

// newTransport reaches servers without a proxy: whose environment a daemon has is
// a matter of who started it, and that must not decide where credentials go.
func newTransport(roots *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTime, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:        roots.Clone(),
		TLSHandshakeTimeout:    dialTime,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: shortTime, PingTimeout: dialTime},
	}
}

// carrier puts credentials on requests to the configured origin, and on no other
// whatever asks for one (threat T29). What the protocol sets is not replaced.
type carrier struct {
	base   http.RoundTripper
	origin string
}

// send sends one request with these credentials; nothing is followed.
func (c carrier) send(req *http.Request, cred credentials) (*http.Response, error) {
	if Origin(req.URL) == c.origin {
		for name, values := range cred.header {
			if req.Header.Get(name) == "" {
				req.Header[name] = values
			}
		}
		if cred.token != "" && req.Header.Get("Authorization") == "" {
			req.Header.Set("Authorization", "Bearer "+cred.token)
		}
	}
	return c.base.RoundTrip(req)
}
