package api

import (
	"time"

	"github.com/dezren39/mcpx/pkg/config"
)

// Status is GET /v1/status and `mcpx status --json`. Fields are only added.
type Status struct {
	Daemon    DaemonStatus     `json:"daemon"`
	Instances []InstanceStatus `json:"instances"`
	Sessions  []SessionStatus  `json:"sessions"`
	Problems  []Problem        `json:"problems"`
	Servers   []ServerStatus   `json:"servers"` // servers of the user's own view that have no instance, too
}

// DaemonStatus is the daemon itself.
type DaemonStatus struct {
	Version    string      `json:"version"`
	PID        int         `json:"pid"`
	RuntimeDir string      `json:"runtimeDir"`
	Home       string      `json:"home"`
	Supervised bool        `json:"supervised"`
	Config     []string    `json:"config"`
	StartedAt  time.Time   `json:"startedAt"`
	Children   int         `json:"children"`
	RSSBytes   int64       `json:"rssBytes"`
	HTTP       *HTTPStatus `json:"http"`
	Path       []string    `json:"path"` // directories where children's programs are looked up; empty while they are being found
}

// HTTPStatus is the HTTP front, null while it is off.
type HTTPStatus struct {
	URL       string `json:"url"`
	TokenFile string `json:"tokenFile"`
}

// InstanceStatus is one running process, or one key that is backing off.
type InstanceStatus struct {
	ID              string    `json:"id"`
	Server          string    `json:"server"`
	Scope           string    `json:"scope"`
	Key             string    `json:"key"`
	Root            string    `json:"root"`
	Cwd             string    `json:"cwd"`
	CwdSource       string    `json:"cwdSource"`
	PID             int       `json:"pid"` // 0 for a remote
	Era             string    `json:"era"`
	ProtocolVersion string    `json:"protocolVersion"`
	State           string    `json:"state"` // starting connected list-failed backing-off stopping failed
	Display         string    `json:"words"` // Words, for who has only JSON
	Dead            bool      `json:"dead"`  // it cannot serve, and will not by being called
	Reason          string    `json:"reason,omitempty"`
	Tools           int       `json:"tools"`
	Prompts         int       `json:"prompts"`
	Resources       int       `json:"resources"`
	Leases          int       `json:"leases"`
	Sessions        int       `json:"sessions"`
	Calls           int64     `json:"calls"`
	Errors          int64     `json:"errors"`
	Noise           int64     `json:"noise"`                // lines on stdout that were not JSON
	NoiseLines      []string  `json:"noiseLines,omitempty"` // the last of them, shortened
	Dropped         int64     `json:"dropped"`              // messages nobody was there for
	Excess          int64     `json:"excess"`               // notifications that came faster than they are passed on
	RSSBytes        int64     `json:"rssBytes"`             // of the process itself
	StartedAt       time.Time `json:"startedAt"`
	LastUsed        time.Time `json:"lastUsed"`
	RetryAt         time.Time `json:"retryAt,omitzero"`
	LastError       string    `json:"lastError"`
}

// SessionStatus is all connections of one identity.
type SessionStatus struct {
	ID          string          `json:"id"`
	Parent      string          `json:"parent,omitempty"`
	Host        HostStatus      `json:"host"`
	Cwd         CwdStatus       `json:"cwd"`
	Roots       []RootStatus    `json:"roots"`
	Rule        *string         `json:"rule"`             // the path of the rule that decides, null when the default does
	Override    *string         `json:"override"`         // the session's own switch, in words; null without one
	Badge       string          `json:"badge"`            // what it sees, in a word or two: all, none, gopls +1*
	Visible     []string        `json:"visible"`          // servers it could have and sees
	Hidden      []string        `json:"hidden"`           // those it does not
	Missing     []string        `json:"missing"`          // names in the rule that no server has
	Frozen      string          `json:"frozen,omitempty"` // what the rules now would decide, where the session keeps older ones
	Connections int             `json:"connections"`
	Since       time.Time       `json:"since"`
	Servers     []SessionServer `json:"servers"`
}

// HostStatus is the agent program.
type HostStatus struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
}

// CwdStatus is the session's directory and who said so.
type CwdStatus struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Stale  string `json:"stale,omitempty"` // why it may be out of date
}

// RootStatus is one soft root.
type RootStatus struct {
	URI     string `json:"uri"`
	Origin  string `json:"origin"`
	Ignored string `json:"ignored,omitempty"`
}

// SessionServer is a server as one session sees it.
type SessionServer struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Dead   bool   `json:"dead"` // as that of an instance
	Reason string `json:"reason"`
	Tools  int    `json:"tools"`
}

// ServerStatus is a server of the config, running or not.
type ServerStatus struct {
	Name   string `json:"name"`
	Scope  string `json:"scope"`
	State  string `json:"state"` // disabled, untrusted, idle, "" when it has instances
	Reason string `json:"reason,omitempty"`
	Tools  int    `json:"tools"` // of the kept catalogue; 0 when none is kept
	Listed bool   `json:"listed"`
}

// Problem is something a person should mend.
type Problem struct {
	Where   string `json:"where"`
	Server  string `json:"server"`
	Field   string `json:"field"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Warning bool   `json:"warning"`
	Rule    string `json:"rule,omitempty"` // the name of the rule that is broken, where it has one
}

// Problems are what config found, as they cross the socket and as --json prints
// them.
func Problems(found config.Problems) []Problem {
	out := make([]Problem, len(found))
	for i, p := range found {
		out[i] = Problem{
			Where: p.Where(), Server: p.Server, Field: p.Field,
			Message: p.Msg, Hint: p.Hint, Warning: p.Warning, Rule: p.Rule,
		}
	}
	return out
}
