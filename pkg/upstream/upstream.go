// Package upstream speaks to one server: it finds the era, shakes hands, and
// then passes lines in and lines out. Who shares it is mux's business.
package upstream

import (
	"context"
	"log/slog"
	"time"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Era is one of the two protocol eras.
type Era string

// Legacy servers are opened by initialize, modern ones by server/discover.
const (
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// Verdict is what is remembered of an effective definition (protocol §1.6).
// The zero Verdict remembers nothing: it is how one is forgotten.
type Verdict struct {
	Era     Era       `json:"era"`
	Plain   bool      `json:"plain,omitempty"` // refuses the workspace members in its handshake (report C13)
	Checked time.Time `json:"checked"`
}

// Eras remembers verdicts; registry keeps them on disk.
type Eras interface {
	Era(id spawn.Identity) (Verdict, bool)
	SetEra(id spawn.Identity, v Verdict)
}

// Options are one dial's.
type Options struct {
	Child         child.Options
	Eras          Eras                // nil: nothing is remembered
	SiblingLegacy bool                // an instance of the same static definition is known as legacy (design D6)
	Roots         func() []roots.Root // caller-owned keys: the session's soft roots; nil: the plan's workspace
	Asks          []byte              // members of the capabilities: what the server may ask of the host; nil: nothing
	StartTimeout  time.Duration       // from spawn to handshake; 0 means 60 s
	ProbeTimeout  time.Duration       // of a silent server/discover; 0 means 10 s, never more than half of StartTimeout
	Version       string              // ours, for clientInfo
	Log           *slog.Logger        // nil: nothing is logged
}

// Handshake is what the server answered.
type Handshake struct {
	Era             Era
	ProtocolVersion string
	Result          []byte   // the result object of initialize or server/discover, as sent
	Initialize      []byte   // what a legacy host is told: Result, or for a modern server one made of it
	Meta            era.Meta // what each request to a modern server carries
	Roots           bool     // it may ask for roots: there are some, or may be
}

// Offers reports whether the result of initialize or server/discover declares a
// capability: "tools", "prompts", "resources".
func Offers(result []byte, kind string) bool {
	caps, ok := wire.Member(result, "capabilities")
	if !ok {
		return false
	}
	all := result[caps.Start:caps.End]
	at, ok := wire.Member(all, kind)
	return ok && string(all[at.Start:at.End]) != "null"
}

const (
	defaultStart = 60 * time.Second
	defaultProbe = 10 * time.Second

	// siblingSilence is how long a probe may be silent before initialize is
	// written behind it, when a sibling is known as legacy (design D6).
	siblingSilence = time.Second

	// verdictLife is how long a legacy verdict stands: a server that was
	// upgraded goes on answering initialize and would never be asked again.
	verdictLife = 7 * 24 * time.Hour

	// lastLook is how long one of the two signs of an end, the process gone and
	// its stdout closed, is waited for once the other was seen (design §6: in
	// flight calls fail within a second).
	lastLook = 500 * time.Millisecond
)

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.StartTimeout <= 0 {
		o.StartTimeout = defaultStart
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = defaultProbe
	}
	o.ProbeTimeout = min(o.ProbeTimeout, o.StartTimeout/2)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Eras == nil {
		o.Eras = forgetful{}
	}
	return o
}

// forgetful is an Eras that keeps nothing.
type forgetful struct{}

func (forgetful) Era(spawn.Identity) (Verdict, bool) { return Verdict{}, false }
func (forgetful) SetEra(spawn.Identity, Verdict)     {}

// deadline bounds a whole start; the cause tells our limit from the caller's.
func (o Options) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.StartTimeout, errStartTimeout)
}
