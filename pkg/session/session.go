// Package session is what one host sees: its handshake, where it stands, which
// instance a request goes to, and what it is answered. It reaches servers
// through the interfaces it declares; who shares an instance is mux's business.
package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/dezren39/mcpx/pkg/api"
	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/pool"
	"github.com/dezren39/mcpx/pkg/proc"
	"github.com/dezren39/mcpx/pkg/registry"
	"github.com/dezren39/mcpx/pkg/scope"
	"github.com/dezren39/mcpx/pkg/source"
)

// Servers is the registry as a session asks it.
type Servers interface {
	// Acquire leases the server's instance for cc, starting it if need be.
	Acquire(ctx context.Context, s *config.Resolved, cc scope.CallContext) (*pool.Lease, error)
	// Running leases the instance of key to session if it is up, and never waits.
	Running(s *config.Resolved, key, session string) (*pool.Lease, bool)
	// Catalogue is what is kept of a server that is not running (design D14).
	Catalogue(s *config.Resolved) (*registry.Catalogue, bool)
	// RootsChanged tells the instance of a caller-owned key to ask again.
	RootsChanged(key string)
}

// World is what a session may know of the machine.
type World interface {
	// View is the config of a session that stands in dir.
	View(dir string) *config.Config
	// Rules are those on visibility that are in force.
	Rules() *source.Rules
	// Locate is the repository around dir, looked for no higher than below one of
	// the ceilings (GIT_CEILING_DIRECTORIES as the host has it).
	Locate(ctx context.Context, dir, ceilings string) scope.Git
	// Canon is the one spelling of a path.
	Canon(path string) (string, error)
	// Stands is where a process stands now; ok is false when that cannot be read.
	Stands(p proc.ID) (dir string, ok bool)
}

// Options open a connection.
type Options struct {
	Hello  api.Hello
	Chain  []proc.Info // the shim's ancestors, nearest first
	Home   string
	Epoch  string        // of the daemon; part of every id sent to a host
	CallID func() string // mints the id of a call with a process of its own
	Say    func(string)  // prints on the shim's stderr
	Single bool          // it is for one request: without an id it has no session, and what a session would own lives for the call

	Resume   []byte                // the state that a daemon before kept; nil for a new connection
	MidWrite bool                  // it ended inside a write to the host
	Keep     func([]byte) error    // keeps the state for the daemon that comes after; nil: nobody does
	May      func(dir string) bool // whether a directory may be set as a root (daemon.rootsCeiling); nil: any

	Servers Servers
	World   World
	Version string
	Log     *slog.Logger
}

// Waits of design D10 and D14, and of the wish not to read faster than a host does.
const (
	rootsWait       = 2 * time.Second
	initializedWait = 2 * time.Second
	startWait       = 2 * time.Second
	drainWait       = 2 * time.Second // for calls in flight when the daemon goes
	lookAgain       = time.Second
	silentHost      = 30 * time.Second // until a host that declared roots and did not answer is asked again
	maxCallTime     = time.Hour        // of a call that goes on showing progress (threat T34)
	slowHost        = 1 << 20          // bytes queued towards a host at which its requests are no longer read
)

// Identity is who a connection belongs to (design D2, "Session id").
type Identity struct {
	Session string
	Parent  string
	Host    proc.ID
}

// Identify says who a connection belongs to: the id given by flag or variable,
// else the host's own, else the host process. Session is "" when that is not
// known either: such a connection is a session of its own, since two hosts must
// not become one.
func Identify(h api.Hello, chain []proc.Info) Identity {
	host := proc.Host(chain).ID
	id := Identity{Host: host}
	id.Session = cmp.Or(h.Flags.Session, h.Env["MCPX_SESSION_ID"], h.Env["CLAUDE_CODE_SESSION_ID"])
	if id.Session == "" && host.PID != 0 {
		id.Session = fmt.Sprintf("host:%d.%d", host.PID, host.Start)
	}
	id.Parent = cmp.Or(h.Flags.Parent, h.Env["MCPX_PARENT_SESSION_ID"])
	return id
}
