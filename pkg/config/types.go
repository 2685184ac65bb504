// Package config says what mcpx's files mean: types, parsing, merging,
// validation and placeholders. It reads no files: source does.
package config

import (
	"time"

	"github.com/dezren39/mcpx/pkg/scope"
)

// Sharing says how many calls an instance serves at once.
type Sharing string

// Shared serves any number of calls at once, Exclusive one after the other.
const (
	Shared    Sharing = "shared"
	Exclusive Sharing = "exclusive"
)

// Protocol is the era a server is spoken to in.
type Protocol string

// Auto probes (design D6); the others skip the probe.
const (
	Auto   Protocol = "auto"
	Legacy Protocol = "legacy"
	Modern Protocol = "modern"
)

// EnvPolicy says what a child inherits from the daemon's base environment.
type EnvPolicy string

// Inherit passes the base environment, Clean only HOME PATH LANG TMPDIR.
const (
	Inherit EnvPolicy = "inherit"
	Clean   EnvPolicy = "clean"
)

// ServerRequests says what happens to sampling and elicitation asked by a child.
type ServerRequests string

// See design §3 and protocol rule W6.
const (
	RequestsAuto      ServerRequests = "auto"
	RequestsAttribute ServerRequests = "attribute"
	RequestsRefuse    ServerRequests = "refuse"
)

// Secret is a reference to a value, never the value. Exactly one is set.
type Secret struct {
	File    string   `json:"file,omitempty" jsonschema:"A file that holds the value."`
	Command []string `json:"command,omitempty" jsonschema:"A program and its arguments that print the value."`
}

// Tier is the kind of file a setting came from.
type Tier string

// Tiers, from the farthest to the nearest. Explicit is --config.
const (
	System   Tier = "system"
	User     Tier = "user"
	Explicit Tier = "explicit"
	Project  Tier = "project"
)

// Origin is where one value was written.
type Origin struct {
	File string
	Line int // 1-based
	Col  int // 1-based, in characters
}

// Resolved is one server after all files have been merged: what runs, and how.
// Placeholders stand as written; they are expanded at spawn only.
type Resolved struct {
	Name string

	// The spawn part: all of it from one tier (design §3).
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string
	URL     string
	Headers map[string]string
	Secrets map[string]Secret
	Tier    Tier   // of the file that set the spawn part
	Dir     string // directory of that file; a command with a slash is relative to it

	// The mcpx part: merged key by key.
	Scope          scope.Scope
	Sharing        Sharing
	Max            int
	IdleTimeout    time.Duration // 0 = never reaped
	StartTimeout   time.Duration
	CallTimeout    time.Duration // inactivity
	Tools          []string
	ExcludeTools   []string
	Protocol       Protocol
	Roots          bool
	ServerRequests ServerRequests
	EnvPolicy      EnvPolicy
	Disabled       bool
	Description    string

	Origins map[string]Origin // by field path, "command", "args[1]", "mcpx.scope"; "" is the server itself
}

// Daemon is the daemon block.
type Daemon struct {
	HTTP            *HTTP
	MaxInstances    int
	MaxStarts       int
	StopGrace       time.Duration
	IdleExit        time.Duration // 0 = never
	RootsCeiling    []string
	Approve         Approve
	ManagementTools []ManagementTool
	Path            []string
	Env             map[string]string
	Rules           Rules
}

// HTTP is daemon.http.
type HTTP struct {
	Listen string `json:"listen"`
	Auth   string `json:"auth,omitempty"`
}

// Approve says who may trust, widen and move (design D11).
type Approve string

// Person, the default, refuses callers that descend from the host of an open session.
const (
	ApproveAny    Approve = "any"
	ApprovePerson Approve = "person"
	ApproveNever  Approve = "never"
)

// Rules is daemon.rules.
type Rules struct {
	Path                   string
	OnError                string // "open" or "closed"
	ApplyToRunningSessions bool
	LogDecisions           bool
}

// Untrusted is a server that only an untrusted project file names.
type Untrusted struct {
	Name string
	File string
}

// Config is a config view: what a session in one directory is offered.
type Config struct {
	Servers   map[string]*Resolved
	Names     []string // sorted
	Invalid   []string // named, but left out for an error in Problems; sorted
	Untrusted []Untrusted
	Daemon    Daemon
	Files     []string // that took part, nearest first
	Problems  Problems
}

// Definition names what is spawned: the server and the hash of its static
// definition (design §3). Sessions that reach equal definitions share a pool.
type Definition string
