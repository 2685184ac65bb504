package remote

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/upstream"
	"github.com/dezren39/mcpx/pkg/wire"
)

// ask is what a server was asked last.
type ask uint8

const (
	probing      ask = iota // server/discover, to find out
	initializing            // initialize
	discovering             // server/discover, to a server that is modern
)

func (a ask) String() string {
	if a == initializing {
		return "initialize"
	}
	return "server/discover"
}

// state is a server being opened. What happens next is decided here and nowhere
// else; open only does it (protocol §1.6).
type state struct {
	ask    ask
	auto   bool // the era may still turn out otherwise
	strict bool // the greeting holds members that a strict server may refuse
}

// move is what to do next.
type move uint8

const (
	giveUp     move = iota
	openModern      // the handshake is done
	openLegacy      //
	tryLegacy       // ask initialize
	tryModern       // ask server/discover: it said that it is modern
	tryPlain        // ask again, without the strict members
)

// outcome is what came of one question.
type outcome struct {
	status  int       // of HTTP; 0 when no answer came
	kind    wire.Kind // Invalid: nothing in it was an answer
	result  []byte
	code    int
	msg     string
	data    []byte
	session string   // Mcp-Session-Id
	trouble *trouble // why there is no answer
}

// silent is the outcome of a probe that was not answered in time.
func (o outcome) silent() bool { return o.status == 0 && o.trouble == nil }

// The codes that only modern servers have.
const (
	codeHeaderMismatch    = -32020
	codeMissingCapability = -32021
)

// on decides upon an outcome.
func (s state) on(o outcome) move {
	switch {
	case o.silent() && s.ask == probing:
		return tryLegacy
	case !isEvidence(o.status):
		return giveUp
	}
	switch s.ask {
	case probing:
		return s.onProbe(o)
	case discovering:
		return s.onDiscover(o)
	}
	return s.onInitialize(o)
}

// isEvidence reports whether an answer says anything of eras: "401/403/5xx/network
// are never era evidence".
func isEvidence(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 200 && status < 300 || status >= 400 && status < 500
}

func (s state) onProbe(o outcome) move {
	switch {
	case o.kind == wire.Result && era.IsDiscover(o.result):
		return openModern
	case o.kind == wire.Error && o.code == era.CodeUnsupportedVersion && era.NamesModern(o.data):
		return tryModern
	case o.kind == wire.Error && o.code == era.CodeUnsupportedVersion && len(supported(o.data)) > 0 &&
		!slices.ContainsFunc(supported(o.data), era.IsLegacy):
		return giveUp // a modern server of another revision
	case o.kind == wire.Error && (o.code == codeHeaderMismatch || o.code == codeMissingCapability):
		if s.strict {
			return tryPlain
		}
		return giveUp
	}
	return tryLegacy
}

// onDiscover decides upon the answer of a server that should be modern. One that
// is remembered as such, and refuses in the way of the other era, has become
// another.
func (s state) onDiscover(o outcome) move {
	switch {
	case o.kind == wire.Result && era.IsDiscover(o.result):
		return openModern
	case o.kind == wire.Result:
		return giveUp
	case s.strict:
		return tryPlain
	case s.auto:
		return s.onProbe(o)
	}
	return giveUp
}

func (s state) onInitialize(o outcome) move {
	switch {
	case o.kind == wire.Result && era.IsLegacy(upstream.ProtocolVersion(o.result)):
		return openLegacy
	case o.kind == wire.Result:
		return giveUp
	case s.auto && o.saysModern():
		return tryModern
	case s.strict:
		return tryPlain
	}
	return giveUp
}

// saysModern reports whether a refusal of initialize is that of a modern server.
func (o outcome) saysModern() bool {
	return o.kind == wire.Error && (o.code == era.CodeUnsupportedVersion && era.NamesModern(o.data) ||
		o.code == wire.CodeMethodNotFound || o.code == codeHeaderMismatch)
}

// after is the state in which m leaves a server.
func (s state) after(m move) state {
	switch m {
	case tryLegacy:
		s.ask = initializing
	case tryModern:
		s.ask = discovering
	case tryPlain:
		s.strict = false
	}
	return s
}

// supported are the revisions that an error names.
func supported(data []byte) []string {
	var d struct {
		Supported []string `json:"supported"`
	}
	_ = json.Unmarshal(data, &d) // none, then
	return d.Supported
}
