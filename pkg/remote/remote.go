// Package remote speaks to one MCP server over Streamable HTTP, in either era, as
// lines in and lines out: each line written becomes a POST of its own, and what
// comes back in bodies and streams becomes lines again. What a server may ask of
// mcpx, and what it is told, is upstream's.
package remote

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/dezren39/mcpx/pkg/child"
	"github.com/dezren39/mcpx/pkg/roots"
	"github.com/dezren39/mcpx/pkg/spawn"
	"github.com/dezren39/mcpx/pkg/stdio"
	"github.com/dezren39/mcpx/pkg/upstream"
)

// Tokens are the sign-in at one server; package auth keeps them.
type Tokens interface {
	// Token is what to send, "" when nobody has signed in.
	Token(ctx context.Context) (string, error)
	// Refused says that the server refused a token, "" for none, and returns the
	// one to try instead; "" when only a person can help.
	Refused(ctx context.Context, token string) (string, error)
	// Missing says that the server wants more than the sign-in covers.
	Missing(scope string)
}

// Options are one dial's.
type Options struct {
	Child        child.Options // reads secrets; nothing is started but what they name
	Eras         upstream.Eras
	Roots        func() []roots.Root // as in upstream.Options
	Asks         []byte              // as in upstream.Options
	Tokens       Tokens              // nil: nobody can sign in
	StartTimeout time.Duration       // 0 means 60 s
	ProbeTimeout time.Duration       // of a silent server/discover; 0 means 10 s, never more than half of StartTimeout
	Version      string              // ours
	TLS          *tls.Config         // nil: the system's roots
	Log          *slog.Logger        // nil: nothing is logged

	most int // bytes of an answer; 0 means stdio.MaxLine, which tests find large
}

const (
	defaultStart = 60 * time.Second
	defaultProbe = 10 * time.Second
	verdictLife  = 7 * 24 * time.Hour // of a legacy verdict, as in upstream

	dialTime  = 10 * time.Second // to connect, and as much again for TLS
	shortTime = 30 * time.Second // for what is answered at once: notifications, answers
	longTime  = time.Hour        // the most that a request may take; mux ends calls before
	byeTime   = 3 * time.Second  // to take leave of a session
	tailTime  = time.Second      // for a stream to end once its answer has come

	maxPosts  = 64       // requests under way at once
	maxAsides = 8        // notifications and answers under way at once
	maxQueued = 4096     // lines that wait for their turn,
	maxBytes  = 64 << 20 // and their bytes
	maxHeader = 64 << 10
	maxError  = 64 << 10 // of the body that explains a refusal
)

func (o Options) withDefaults() Options {
	if o.StartTimeout <= 0 {
		o.StartTimeout = defaultStart
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = defaultProbe
	}
	o.ProbeTimeout = min(o.ProbeTimeout, o.StartTimeout/2)
	if o.most == 0 {
		o.most = stdio.MaxLine
	}
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

func (forgetful) Era(spawn.Identity) (upstream.Verdict, bool) { return upstream.Verdict{}, false }
func (forgetful) SetEra(spawn.Identity, upstream.Verdict)     {}
