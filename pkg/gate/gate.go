// Package gate decides which requests to a port on the loopback interface are
// answered at all (threats T9, T32, T33), and keeps such a port within bounds. A
// port is open to every program of this machine, and to every page in its user's
// browser; what stands behind it is not.
package gate

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

// Asked is what the gate goes by. Nothing of a request counts before it passed.
type Asked struct {
	Peer     netip.Addr
	Stranger bool // the kernel says that the peer is another user's
	Port     uint16
	Method   string

	Host, Origin, FetchSite, FetchMode, ContentType, Authorization []string // as sent, each time they were
}

// Policy is what a part of a port lets in.
type Policy struct {
	Methods []string
	// Opens reports whether a token of this digest opens it; nil: none is asked for.
	Opens func(digest [sha256.Size]byte) bool
	// Door lets a browser come by a link of another site, to what tells nobody
	// anything.
	Door bool
}

// One opens to the token of one digest, in a time that says nothing of it.
func One(digest [sha256.Size]byte) func([sha256.Size]byte) bool {
	return func(d [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(d[:], digest[:]) == 1 }
}

// No is why a request is refused.
type No struct {
	Status int
	Msg    string
}

// Admit is the gate, in its order; nil lets a request in. Pure, but for what the
// policy's Opens is.
func (p Policy) Admit(a Asked) *No {
	switch {
	case !a.Peer.Unmap().IsLoopback():
		return &No{http.StatusForbidden, "only programs on this machine are served"}
	case a.Stranger:
		return &No{http.StatusForbidden, "only programs of the user who runs mcpx are served"}
	case len(a.Host) != 1 || !slices.Contains(hosts(a.Port), strings.ToLower(a.Host[0])):
		return &No{http.StatusForbidden, "the Host header must name the address that mcpx listens at"}
	case len(a.Origin) > 1 || len(a.Origin) == 1 && !ownOrigin(a.Origin[0], a.Port):
		return &No{http.StatusForbidden, "pages of other origins are not served"}
	case !p.ownSite(a):
		return &No{http.StatusForbidden, "pages of other sites are not served"}
	case !slices.Contains(p.Methods, a.Method):
		return &No{http.StatusMethodNotAllowed, "there are " + strings.Join(p.Methods, ", ")}
	case (a.Method == http.MethodPost || a.Method == http.MethodPut) && !isJSON(a.ContentType):
		return &No{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	case p.Opens != nil && !p.opens(a.Authorization):
		return &No{http.StatusUnauthorized, "the token is missing or wrong"}
	}
	return nil
}

func (p Policy) ownSite(a Asked) bool {
	switch {
	case len(a.FetchSite) == 0:
		return true
	case len(a.FetchSite) > 1:
		return false
	case a.FetchSite[0] == "same-origin", a.FetchSite[0] == "none":
		return true
	}
	return p.Door && a.Method == http.MethodGet && slices.Equal(a.FetchMode, []string{"navigate"})
}

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

func (p Policy) opens(authorization []string) bool {
	digest, ok := digestOf(authorization)
	return p.Opens(digest) && ok
}

// digestOf is of the token in an Authorization header.
func digestOf(authorization []string) (digest [sha256.Size]byte, ok bool) {
	if len(authorization) != 1 {
		return digest, false
	}
	kind, token, ok := strings.Cut(authorization[0], " ")
	return sha256.Sum256([]byte(strings.TrimSpace(token))), ok && strings.EqualFold(kind, "Bearer")
}
