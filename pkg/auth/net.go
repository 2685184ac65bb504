package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/dezren39/mcpx/pkg/remote"
)

const (
	askTime      = 10 * time.Second
	maxBody      = 64 << 10
	maxRedirects = 3
)

// kind is where an address is. A server may lead to addresses of the Internet,
// and to those of the kind that it has itself, and nowhere else (threat T31).
type kind string

const (
	public   kind = ""
	loopback kind = "loopback"
	private  kind = "private"
	link     kind = "link-local"
	nowhere  kind = "reserved"
)

var (
	carrier   = netip.MustParsePrefix("100.64.0.0/10")
	reserved4 = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15")}
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	compat    = netip.MustParsePrefix("::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// kindOf looks through the forms in which one address may be written as another.
func kindOf(ip netip.Addr) kind {
	ip = ip.Unmap().WithZone("")
	switch {
	case !ip.IsValid(), ip.IsUnspecified(), ip.IsMulticast():
		return nowhere
	case ip.IsLoopback():
		return loopback
	case ip.IsPrivate(), carrier.Contains(ip):
		return private
	case ip.IsLinkLocalUnicast():
		return link
	}
	if ip.Is4() {
		for _, p := range reserved4 {
			if p.Contains(ip) {
				return nowhere
			}
		}
		return public
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip), compat.Contains(ip):
		return kindOf(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToFour.Contains(ip):
		return kindOf(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return public
}

// guard lets connections go where they may; met is the kind of the address that
// the last one went to.
type guard struct {
	net  Net
	home kind
	any  bool // the configured server's own address: the config says so
	met  kind
}

var errAddress = errors.New("leads to an address that it must not lead to")

// dial looks a host up itself and connects to the very address that it checked:
// a name that means another address a moment later is of no use.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ips, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	dial := g.net.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: askTime}).DialContext
	}
	err = errAddress
	for _, ip := range ips {
		at := kindOf(ip)
		if !g.any && at != public && (at != g.home || at == nowhere) {
			continue
		}
		var conn net.Conn
		if conn, err = dial(ctx, network, net.JoinHostPort(ip.String(), port)); err == nil {
			g.met = at
			return conn, nil
		}
	}
	return nil, err
}

func (g *guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if g.net.Lookup != nil {
		return g.net.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// client asks within bounds: no proxy, no redirect but that of a GET within its
// origin, 64 KiB, 10 s.
func (g *guard) client() *http.Client {
	return &http.Client{
		Timeout: askTime,
		Transport: bounded{&http.Transport{
			DialContext:            g.dial,
			TLSClientConfig:        &tls.Config{RootCAs: g.net.Roots},
			TLSHandshakeTimeout:    askTime,
			ResponseHeaderTimeout:  askTime,
			MaxResponseHeaderBytes: maxBody,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
		}},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			first := via[0]
			if first.Method != http.MethodGet || len(via) > maxRedirects || remote.Origin(req.URL) != remote.Origin(first.URL) || req.URL.User != nil {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// bounded keeps bodies short, whatever they were compressed from.
type bounded struct{ base http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(req)
	if err == nil {
		resp.Body = &shortBody{resp.Body, maxBody}
	}
	return resp, err
}

type shortBody struct {
	io.ReadCloser
	left int
}

var errLong = errors.New("the answer is longer than 64 KiB")

func (b *shortBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errLong
	}
	return n, err
}

// checkAddress holds what every address that a server or an issuer names must
// keep: https, or http on a loopback address when the server itself has one.
func checkAddress(what, address string, home kind) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "", u.Opaque != "":
		return nil, fmt.Errorf("%s is no address", what)
	case strings.Trim(u.Host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") != "":
		return nil, fmt.Errorf("%s is no address", what)
	case u.User != nil, u.Fragment != "", strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("%s holds what does not belong there", what)
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && home == loopback && isLoopback(u.Hostname()):
		return u, nil
	}
	return nil, fmt.Errorf("%s is not an https address", what)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// why says why nothing came, without the address that was asked.
func why(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, errAddress), errors.Is(err, errLong):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	case errors.As(err, &dns):
		return "has no address"
	case errors.As(err, &op):
		return "could not be reached"
	}
	return "broke off"
}
