package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

func TestKinds(t *testing.T) {
	for address, want := range map[string]kind{
		"93.184.216.34": public, "2606:4700::1111": public, "100.63.0.1": public, "172.32.0.1": public,
		"127.0.0.1": loopback, "127.9.9.9": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback, "64:ff9b::7f00:1": loopback, "::7f00:1": loopback,
		"10.0.0.1": private, "172.16.0.1": private, "192.168.1.1": private, "100.64.0.1": private, "fd00::1": private,
		"::ffff:10.0.0.1": private, "64:ff9b::a00:1": private, "2002:a00:1::": private,
		"169.254.169.254": link, "fe80::1": link, "fe80::1%eth0": link, "::ffff:169.254.169.254": link, "64:ff9b::a9fe:a9fe": link,
		"0.0.0.0": nowhere, "::": nowhere, "224.0.0.1": nowhere, "ff02::1": nowhere, "255.255.255.255": nowhere, "0.1.2.3": nowhere, "240.0.0.1": nowhere,
	} {
		if got := kindOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
	if kindOf(netip.Addr{}) != nowhere {
		t.Error("no address is somewhere")
	}
}

// internet is a server and an issuer with public names, both behind TLS, and what
// else a name may mean.
type internet struct {
	net    Net
	target Target

	mu     sync.Mutex
	names  map[string][]string // the addresses of each look-up in turn; the last stays
	dialed []string
}

func newInternet(t *testing.T, server, issuer http.Handler) *internet {
	t.Helper()
	n := &internet{names: map[string][]string{"mcp.test": {"203.0.113.1"}, "as.test": {"203.0.113.2"}}, target: Target{Server: "srv", URL: "https://mcp.test/mcp"}}
	ca := httptest.NewUnstartedServer(nil)
	ca.StartTLS()
	t.Cleanup(ca.Close)
	// One certificate serves all: what is tried here are addresses.
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate())
	behind := map[string]net.Listener{}
	for ip, h := range map[string]http.Handler{"203.0.113.1": server, "203.0.113.2": issuer} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: h, TLSConfig: &tls.Config{Certificates: ca.TLS.Certificates}}
		go func() { _ = s.ServeTLS(l, "", "") }()
		t.Cleanup(func() { _ = s.Close() })
		behind[ip] = l
	}
	n.net = Net{
		Roots: roots,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			all := n.names[host]
			if len(all) == 0 {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			if len(all) > 1 {
				n.names[host] = all[1:]
			}
			var ips []netip.Addr
			for _, ip := range strings.Fields(all[0]) {
				ips = append(ips, netip.MustParseAddr(ip))
			}
			return ips, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			ip, _, _ := net.SplitHostPort(address)
			n.mu.Lock()
			n.dialed = append(n.dialed, ip)
			n.mu.Unlock()
			if l := behind[ip]; l != nil {
				return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
			}
			return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
		},
	}
	return n
}

// TestNobodyIsLedInside: what a server or an issuer says leads to addresses of
// the Internet only; no connection is even tried elsewhere (threat T31).
func TestNobodyIsLedInside(t *testing.T) {
	const prm = "/.well-known/oauth-protected-resource/mcp"
	for name, set := range map[string]func(n *internet, server, issuer *http.ServeMux){
		"metadata at the cloud's own address": func(_ *internet, server, _ *http.ServeMux) {
			server.HandleFunc("/mcp", challenge(`https://169.254.169.254/latest`))
		},
		"a mapped private address": func(_ *internet, server, _ *http.ServeMux) {
			server.HandleFunc("/mcp", challenge(`https://[::ffff:10.0.0.1]/x`))
		},
		"a name of a private address": func(n *internet, server, _ *http.ServeMux) {
			n.names["inside.test"] = []string{"192.168.0.1"}
			server.HandleFunc("/mcp", challenge(`https://inside.test/x`))
		},
		"a name that flips": func(n *internet, server, issuer *http.ServeMux) {
			n.names["as.test"] = []string{"203.0.113.2", "127.0.0.1"}
			server.HandleFunc(prm, document(`{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"]}`))
			issuer.HandleFunc("/.well-known/oauth-authorization-server", document(`{"issuer":"https://as.test","authorization_endpoint":"https://as.test/a","token_endpoint":"https://as.test/t","registration_endpoint":"https://as.test/r","code_challenge_methods_supported":["S256"]}`))
		},
		"the server's own name flips": func(n *internet, server, _ *http.ServeMux) {
			n.names["mcp.test"] = []string{"203.0.113.1", "127.0.0.1"}
			server.HandleFunc("/mcp", challenge(`https://mcp.test/x`))
		},
		"a redirect inside": func(_ *internet, server, _ *http.ServeMux) {
			server.HandleFunc(prm, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://10.0.0.1/", http.StatusFound)
			})
		},
		"an issuer inside": func(_ *internet, server, _ *http.ServeMux) {
			server.HandleFunc(prm, document(`{"resource":"https://mcp.test/mcp","authorization_servers":["https://10.1.2.3"]}`))
		},
		"an issuer on this machine": func(_ *internet, server, _ *http.ServeMux) {
			server.HandleFunc(prm, document(`{"resource":"https://mcp.test/mcp","authorization_servers":["http://127.0.0.1:8080"]}`))
		},
		"a registration inside": func(_ *internet, server, issuer *http.ServeMux) {
			server.HandleFunc(prm, document(`{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"]}`))
			issuer.HandleFunc("/.well-known/oauth-authorization-server", document(`{"issuer":"https://as.test","authorization_endpoint":"https://as.test/a","token_endpoint":"https://as.test/t","registration_endpoint":"https://[fd00::1]/r","code_challenge_methods_supported":["S256"]}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, issuer := http.NewServeMux(), http.NewServeMux()
			n := newInternet(t, server, issuer)
			set(n, server, issuer)
			k := newKeeper(t, t.TempDir(), n.net)
			if f, err := k.Login(t.Context(), n.target); err == nil {
				t.Errorf("a browser would be sent to %s", f.URL)
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, ip := range n.dialed {
				if kindOf(netip.MustParseAddr(ip)) != public {
					t.Errorf("a connection to %s was tried", ip)
				}
			}
			if len(n.dialed) == 0 {
				t.Error("nothing was dialled at all: the test is broken")
			}
		})
	}
}

func challenge(metadata string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+metadata+`"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func document(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}
}

// TestAServerInsideMayHaveAnIssuerInside: a company's own servers are where it is.
func TestAServerInsideMayHaveAnIssuerInside(t *testing.T) {
	for home, others := range map[string]map[string]bool{
		"10.0.0.1":    {"10.9.9.9": true, "192.168.0.1": true, "203.0.113.2": true, "127.0.0.1": false, "169.254.169.254": false, "0.0.0.0": false},
		"127.0.0.1":   {"127.0.0.1": true, "10.0.0.1": false, "203.0.113.2": true},
		"203.0.113.1": {"203.0.113.2": true, "10.0.0.1": false, "127.0.0.1": false},
		"169.254.1.1": {"169.254.169.254": true, "10.0.0.1": false},
		"0.0.0.0":     {"0.0.0.0": false},
	} {
		for other, may := range others {
			dialed := 0
			g := &guard{home: kindOf(netip.MustParseAddr(home)), net: Net{Dial: func(context.Context, string, string) (net.Conn, error) {
				dialed++
				return nil, context.Canceled
			}}}
			_, _ = g.dial(t.Context(), "tcp", net.JoinHostPort(other, "443"))
			if got := dialed == 1; got != may {
				t.Errorf("from %s to %s: tried %v, want %v", home, other, got, may)
			}
		}
	}
}

func TestCareful(t *testing.T) {
	for address, want := range map[string]string{
		"https://as.test/authorize?a=b&c=d%20e":        "https://as.test/authorize?a=b&c=d%20e",
		"https://as.test/$(x)`y`;z|'\"!*(a)?q={b}\\^~": "https://as.test/%24%28x%29%60y%60%3Bz%7C%27%22%21%2A%28a%29?q=%7Bb%7D%5C%5E~",
		"http://[::1]:80/a[b]":                         "http://[::1]:80/a%5Bb%5D",
		"https://as.test":                              "https://as.test",
	} {
		if got := careful(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
