package config

import "github.com/dezren39/mcpx/pkg/scope"

// RawFile is a config file as written. The raw types are what files are parsed
// into, what the JSON Schema is generated from, and what Print writes; a nil
// pointer, slice or map is a key that is not there.
type RawFile struct {
	Servers  map[string]RawServer `json:"mcpServers,omitempty" jsonschema:"The servers, by name ([A-Za-z0-9._-], at most 64 characters)."`
	Defaults *RawMcpx             `json:"defaults,omitempty" jsonschema:"What holds for every server that does not say otherwise. Not in project files."`
	Daemon   *RawDaemon           `json:"daemon,omitempty" jsonschema:"The daemon itself. Only in the user's own file or one given by --config."`
}

// RawServer is one entry of mcpServers. Other hosts' keys beside these are
// theirs, and left alone.
type RawServer struct {
	Command  string            `json:"command,omitempty" jsonschema:"The program. With a slash it is relative to the directory of this file, else looked up on PATH."`
	Args     []string          `json:"args,omitzero" jsonschema:"Arguments, passed as they stand: never split, never through a shell. ${mcpx.root} and ${mcpx.cwd} are substituted."`
	Env      map[string]string `json:"env,omitzero" jsonschema:"Environment variables. ${mcpx.root} and ${mcpx.cwd} are substituted in values; any other ${…} is passed as it stands."`
	Cwd      string            `json:"cwd,omitempty" jsonschema:"Working directory; the scope's root when left out. A relative one is relative to that root."`
	URL      string            `json:"url,omitempty" jsonschema:"Address of a remote server, in place of command."`
	Headers  map[string]string `json:"headers,omitzero" jsonschema:"HTTP headers sent to url."`
	Type     string            `json:"type,omitempty" jsonschema:"Written by other hosts; mcpx tells the kinds apart by command and url."`
	Disabled *bool             `json:"disabled,omitempty" jsonschema:"The same as mcpx.disabled."`
	Mcpx     *RawMcpx          `json:"mcpx,omitempty" jsonschema:"What only mcpx knows about the server. Alone in an entry it changes a server that a farther file defines."`
}

// RawMcpx is an mcpx block, and the defaults.
type RawMcpx struct {
	Scope          *scope.Scope      `json:"scope,omitempty" jsonschema:"Who shares a process. Default global."`
	Sharing        *Sharing          `json:"sharing,omitempty" jsonschema:"Any number of calls at once, or one after the other. Default shared."`
	Max            *int              `json:"max,omitempty" jsonschema:"How many processes of this server may run at once. Default 4."`
	IdleTimeout    *DurationOrNever  `json:"idleTimeout,omitempty" jsonschema:"After which a process nobody uses is stopped. Default 5m."`
	StartTimeout   *Duration         `json:"startTimeout,omitempty" jsonschema:"From the start of the process to its handshake. Default 60s."`
	CallTimeout    *Duration         `json:"callTimeout,omitempty" jsonschema:"How long a call may be silent; progress starts it anew. Default 120s."`
	Tools          []string          `json:"tools,omitzero" jsonschema:"The tools that are offered: names, globs, or /regular expressions/. All when left out."`
	ExcludeTools   []string          `json:"excludeTools,omitzero" jsonschema:"The tools that are not offered, whatever tools says."`
	Protocol       *Protocol         `json:"protocol,omitempty" jsonschema:"The protocol era the server is spoken to in. Default auto."`
	Roots          *bool             `json:"roots,omitempty" jsonschema:"Whether the server is offered the MCP roots capability. Default true."`
	ServerRequests *ServerRequests   `json:"serverRequests,omitempty" jsonschema:"Whether the server may ask the host for sampling and elicitation. Default auto: when it is certain who is asked."`
	Disabled       *bool             `json:"disabled,omitempty" jsonschema:"Turns the server off."`
	Description    *string           `json:"description,omitempty" jsonschema:"For people."`
	Secrets        map[string]Secret `json:"secrets,omitzero" jsonschema:"Values read when the server starts, by environment variable or header."`
	EnvPolicy      *EnvPolicy        `json:"envPolicy,omitempty" jsonschema:"What the process inherits from the daemon. Default inherit; clean for project files."`
}

// RawDaemon is the daemon block.
type RawDaemon struct {
	HTTP            *RawHTTP          `json:"http,omitempty" jsonschema:"The HTTP front. Off when left out."`
	MaxInstances    *int              `json:"maxInstances,omitempty" jsonschema:"How many processes may run at once, of all servers. Default 64."`
	MaxStarts       *int              `json:"maxStarts,omitempty" jsonschema:"How many processes may be starting at once. Default 4."`
	StopGrace       *Duration         `json:"stopGrace,omitempty" jsonschema:"How long each step of a stop waits. Default 5s."`
	IdleExit        *DurationOrNever  `json:"idleExit,omitempty" jsonschema:"After which a daemon nobody is connected to ends. Default 10m."`
	RootsCeiling    []string          `json:"rootsCeiling,omitzero" jsonschema:"Directories that session roots may not leave."`
	Approve         *Approve          `json:"approve,omitempty" jsonschema:"Who may trust files, widen sessions and change roots. Default person."`
	ManagementTools []ManagementTool  `json:"managementTools,omitzero" jsonschema:"The tools of mcpx management-server, where a server runs that. Default status; roots changes where a session works."`
	Path            []string          `json:"path,omitzero" jsonschema:"The directories of PATH for servers."`
	Env             map[string]string `json:"env,omitzero" jsonschema:"Environment variables for every server."`
	Rules           *RawRules         `json:"rules,omitempty" jsonschema:"The visibility rules."`
}

// RawHTTP is daemon.http.
type RawHTTP struct {
	Listen string `json:"listen" jsonschema:"A loopback address and port, such as 127.0.0.1:7780."`
	Auth   *Auth  `json:"auth,omitempty" jsonschema:"Default token."`
}

// RawRules is daemon.rules.
type RawRules struct {
	Path                   *string  `json:"path,omitempty" jsonschema:"The rules file."`
	OnError                *OnError `json:"onError,omitempty" jsonschema:"What a broken rules file means: everything visible, or nothing. Default open."`
	ApplyToRunningSessions *bool    `json:"applyToRunningSessions,omitempty" jsonschema:"Whether a change reaches sessions that are open. Default true."`
	LogDecisions           *bool    `json:"logDecisions,omitempty" jsonschema:"Default true."`
}

// Auth is how callers of the HTTP front prove who they are.
type Auth string

// ManagementTool is a tool of mcpx's own.
type ManagementTool string

// ManageStatus reads; ManageRoots changes the roots of the session that asks.
const (
	ManageStatus ManagementTool = "status"
	ManageRoots  ManagementTool = "roots"
)

// OnError is what a broken rules file means.
type OnError string

// hasSpawn reports whether the entry sets any of the spawn part, which then
// replaces all of a farther tier's (threat T6).
func (s *RawServer) hasSpawn() bool {
	return s.Command != "" || s.Args != nil || s.Env != nil || s.Cwd != "" ||
		s.URL != "" || s.Headers != nil || s.Mcpx != nil && s.Mcpx.Secrets != nil
}
