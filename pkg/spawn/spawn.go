// Package spawn plans one server process: argv, environment, directory and the
// workspace it is told (record 0004 §3, §4). It starts nothing: child does.
package spawn

import (
	"github.com/dezren39/mcpx/pkg/config"
)

// DirSource says where a plan's directory came from.
type DirSource string

// The three sources of record 0004 §3, in order.
const (
	DirFromConfig DirSource = "config"
	DirFromScope  DirSource = "scope"
	DirFromDaemon DirSource = "daemon"
)

// Plan is the effective definition of one process, or of one remote server.
type Plan struct {
	Server    string
	Key       string
	Root      string // the instance's root, offered or not
	Command   string // absolute when the config's has a slash, else looked up on the child's PATH
	Args      []string
	Env       map[string]string // config part only, substituted
	EnvPolicy config.EnvPolicy
	Secrets   map[string]config.Secret // by reference; read by child at start
	Dir       string                   // "" means the daemon's own directory, always the user's home
	DirSource DirSource                // "" for a remote: it has no directory
	URL       string
	Headers   map[string]string
	Protocol  config.Protocol
	Workspace Workspace
}

// Dir says where a process starts: an explicit cwd wins, then the scope's root,
// then the daemon's own directory, written "" (record 0004 §3).
func Dir(cwd, root string) (string, DirSource) {
	switch {
	case cwd != "":
		return cwd, DirFromConfig
	case root != "":
		return root, DirFromScope
	}
	return "", DirFromDaemon
}
