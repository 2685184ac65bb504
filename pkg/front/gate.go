package front

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// asked is what the gate goes by. Nothing of a request counts before it passed.
type asked struct {
	peer     netip.Addr
	stranger bool // the kernel says that the peer is another user's
	port     uint16
	method   string

	host, origin, fetchSite, contentType, authorization []string // as sent, each time they were
}

// factsOf gathers them.
func factsOf(r *http.Request, port uint16, stranger bool) asked {
	var peer netip.Addr
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		peer = ap.Addr()
	}
	return asked{
		peer: peer, stranger: stranger, port: port, method: r.Method, host: []string{r.Host},
		origin: r.Header["Origin"], fetchSite: r.Header["Sec-Fetch-Site"],
		contentType: r.Header["Content-Type"], authorization: r.Header["Authorization"],
	}
}

// no is why a request was refused.
type no struct {
	status int
	msg    string
}

// admit is the gate (threat T9), in its order; nil lets a request in. digest is of
// the token that opens it, nil for none. Pure.
func admit(a asked, digest *[sha256.Size]byte) *no {
	switch {
	case !a.peer.Unmap().IsLoopback():
		return &no{http.StatusForbidden, "only programs on this machine are served"}
	case a.stranger:
		return &no{http.StatusForbidden, "only programs of the user who runs mcpx are served"}
	case len(a.host) != 1 || !slices.Contains(hosts(a.port), strings.ToLower(a.host[0])):
		return &no{http.StatusForbidden, "the Host header must name the address that mcpx listens at"}
	case len(a.origin) > 1 || len(a.origin) == 1 && !ownOrigin(a.origin[0], a.port):
		return &no{http.StatusForbidden, "pages of other origins are not served"}
	case len(a.fetchSite) > 1 || len(a.fetchSite) == 1 && a.fetchSite[0] != "same-origin" && a.fetchSite[0] != "none":
		return &no{http.StatusForbidden, "pages of other sites are not served"}
	case !slices.Contains(methods, a.method):
		return &no{http.StatusMethodNotAllowed, "there are " + strings.Join(methods, ", ")}
	case a.method == http.MethodPost && !isJSON(a.contentType):
		return &no{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	case digest != nil && !opens(a.authorization, digest):
		return &no{http.StatusUnauthorized, "the token is missing or wrong: Authorization: Bearer TOKEN; mcpx status names the file that holds it"}
	}
	return nil
}

var methods = []string{http.MethodPost, http.MethodGet, http.MethodDelete}

// hosts are the names under which this machine alone is reached.
func hosts(port uint16) []string {
	p := strconv.Itoa(int(port))
	return []string{net.JoinHostPort("127.0.0.1", p), net.JoinHostPort("::1", p), net.JoinHostPort("localhost", p)}
}

func ownOrigin(origin string, port uint16) bool {
	host, ok := strings.CutPrefix(strings.ToLower(origin), "http://")
	return ok && slices.Contains(hosts(port), host)
}

func isJSON(contentType []string) bool {
	if len(contentType) != 1 {
		return false
	}
	kind, _, err := mime.ParseMediaType(contentType[0])
	return err == nil && kind == "application/json"
}

// opens compares digests, so that how long it takes says nothing of the token
// (threat T32).
func opens(authorization []string, digest *[sha256.Size]byte) bool {
	if len(authorization) != 1 {
		return false
	}
	kind, token, ok := strings.Cut(authorization[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], digest[:]) == 1 && ok && strings.EqualFold(kind, "Bearer")
}
