// Package api is what the daemon and its callers say to each other, as plain
// structs, and the client that says it. It decides nothing.
package api

// Version is the API number in hellos and welcomes. It changes only when an
// older daemon could misread a newer caller.
const Version = 1

// Hello opens a session: the body of POST /v1/session on the attach socket.
// Facts about processes are not in it: the kernel tells those (threat T16).
// Its shape is frozen; members are only ever added (design D13).
type Hello struct {
	API    int               `json:"api"`
	Build  string            `json:"build"`
	Server string            `json:"server,omitempty"` // "": all that are visible, under one roof
	Cwd    string            `json:"cwd"`              // the shim's working directory
	Flags  Flags             `json:"flags"`
	Env    map[string]string `json:"env,omitempty"` // only the names in HelloEnv
}

// Flags are connect's own.
type Flags struct {
	Cwd     string `json:"cwd,omitempty"`
	Session string `json:"session,omitempty"`
	Parent  string `json:"parent,omitempty"`
}

// HelloEnv are the variables a shim passes on, and no others.
var HelloEnv = []string{
	"MCPX_CWD", "MCPX_SESSION_ID", "MCPX_PARENT_SESSION_ID",
	"CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS",
	"GIT_CEILING_DIRECTORIES",
}

// ShimLine is one JSON line from daemon to shim after the descriptors arrived.
// Exactly one member is set.
type ShimLine struct {
	Adopted bool   `json:"adopted,omitempty"`
	Drain   bool   `json:"drain,omitempty"`  // the close that follows is orderly: dial again
	Stderr  string `json:"stderr,omitempty"` // print this
	End     *int   `json:"end,omitempty"`    // exit with this code
}

// Error crosses the socket in place of an answer.
type Error struct {
	Server string `json:"server,omitempty"`
	Field  string `json:"field,omitempty"`
	Msg    string `json:"msg"`
	Hint   string `json:"hint,omitempty"`
}
