package upstream

import (
	"bytes"
	"encoding/json"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// ask is what a process was asked last.
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

// state is one process being opened. What happens next is decided here and
// nowhere else; open only does it (protocol §1.6, design D6).
type state struct {
	ask     ask
	auto    bool // the era may still turn out otherwise
	strict  bool // the greeting holds members that a strict server may refuse
	sibling bool // one like it is known as legacy
	behind  bool // initialize was written behind a silent probe
	probed  bool // this process was sent a probe that it did not know
}

// question is what an answer is waited for.
func (s state) question() string {
	if s.behind {
		return initializing.String()
	}
	return s.ask.String()
}

// move is what to do next.
type move uint8

const (
	wait              move = iota
	openModern             // the handshake is done
	openLegacy             //
	sayBehind              // write initialize behind the probe
	sayInitialize          // ask the same process for initialize
	sayPlain               // ask the same process again, without the strict members
	respawnInitialize      // a fresh process, no probe
	respawnPlain           // a fresh process, no strict members
	respawnModern          // a fresh process, which is known to be modern
	giveUp
)

// reply is a server's answer to one of our requests, as far as it matters.
type reply struct {
	to     ask  // probing or initializing
	noID   bool // an error with "id": null
	kind   wire.Kind
	result []byte
	code   int
	msg    string
	data   []byte
}

// on decides upon an answer. One without an id answers what was asked last.
func (s state) on(r reply) move {
	toInitialize := r.to == initializing || r.noID && s.ask == initializing
	switch {
	case toInitialize && (s.ask == initializing || s.behind):
		return s.onInitialize(r)
	case toInitialize:
		return wait // not asked
	case s.ask == discovering:
		return s.onDiscover(r)
	}
	return s.onProbe(r)
}

// onProbe decides upon the answer of a server whose era is unknown.
func (s state) onProbe(r reply) move {
	modern := r.kind == wire.Result && era.IsDiscover(r.result)
	switch {
	case s.ask == initializing:
		return wait // a second answer to a probe that was answered
	case s.behind && modern:
		return respawnModern // one child never serves two eras
	case s.behind:
		return wait
	case modern:
		return openModern
	case r.kind == wire.Error && !r.noID:
		return sayInitialize
	}
	return respawnInitialize
}

// onDiscover decides upon the answer of a server that should be modern. One that
// is remembered as such and refuses has become another, unless it may be the
// members that it refuses.
func (s state) onDiscover(r reply) move {
	switch {
	case r.kind == wire.Result && era.IsDiscover(r.result):
		return openModern
	case r.kind == wire.Error && s.auto && !r.noID && !(s.strict && r.code == wire.CodeInvalidParams):
		return sayInitialize
	case r.kind == wire.Error && s.strict:
		return sayPlain
	}
	return giveUp
}

// onInitialize decides upon the answer to initialize.
func (s state) onInitialize(r reply) move {
	switch {
	case r.kind == wire.Result && era.IsLegacy(ProtocolVersion(r.result)):
		return openLegacy
	case r.kind == wire.Result:
		return giveUp
	case s.auto && s.saysModern(r):
		return respawnModern
	case s.strict && r.noID:
		return respawnPlain
	case s.strict:
		return sayPlain
	}
	return giveUp
}

// saysModern reports whether a refusal of initialize is that of a modern
// server: it names the revision, or has no such method at all.
func (s state) saysModern(r reply) bool {
	return r.code == era.CodeUnsupportedVersion && era.NamesModern(r.data) || r.code == wire.CodeMethodNotFound
}

// onEnd decides when the process ended unasked.
func (s state) onEnd() move {
	switch {
	case s.ask == probing || s.probed:
		return respawnInitialize // the probe may have killed it
	case s.strict:
		return respawnPlain
	}
	return giveUp
}

// onSilence decides when the process has not answered in time.
func (s state) onSilence() move {
	if s.sibling && !s.behind {
		return sayBehind
	}
	return respawnInitialize
}

// after is the state in which m leaves a process, or begins with a fresh one.
func (s state) after(m move) state {
	switch m {
	case sayBehind:
		s.behind = true
	case sayInitialize:
		s.ask, s.probed = initializing, true
	case sayPlain:
		s.strict = false
	case respawnInitialize:
		s = state{ask: initializing, auto: s.auto, strict: s.strict}
	case respawnPlain:
		s = state{ask: s.ask, auto: s.auto}
	case respawnModern:
		s = state{ask: discovering, auto: s.auto, strict: s.strict}
	}
	return s
}

// replyOf reads an answer; ok is false when it is not to one of our requests.
func replyOf(env *wire.Envelope) (r reply, ok bool) {
	r.kind = env.Kind
	switch id := env.Bytes(env.ID); {
	case bytes.Equal(id, probeID):
		r.to = probing
	case bytes.Equal(id, initID), bytes.Equal(id, []byte(`"0"`)): // "0" for 0: some servers make ids strings
		r.to = initializing
	case id == nil && r.kind == wire.Error:
		r.noID = true // whatever was asked last
	default:
		return r, false
	}
	if r.kind == wire.Result {
		r.result = bytes.Clone(env.Bytes(env.Result))
		return r, true
	}
	r.code, r.msg, r.data = ErrorOf(env)
	return r, true
}

// ErrorOf takes an error object apart. What it cannot read stays empty: the
// answer is a refusal all the same.
func ErrorOf(env *wire.Envelope) (code int, msg string, data []byte) {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(env.Bytes(env.Error), &e)
	return e.Code, e.Message, e.Data
}

// ProtocolVersion is the revision an initialize result names.
func ProtocolVersion(result []byte) string {
	at, ok := wire.Member(result, "protocolVersion")
	if !ok {
		return ""
	}
	v, _ := wire.Text(result[at.Start:at.End])
	return v
}
