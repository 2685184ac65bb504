package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/dezren39/mcpx/pkg/scope"
)

// definition is exactly what a Definition hashes. JSON keeps it unambiguous:
// names, quotes and sorted keys tell any two values apart. No secret is in it.
type definition struct {
	Command        string            `json:"command,omitempty"`
	Dir            string            `json:"dir,omitempty"`
	Args           []string          `json:"args,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	Cwd            string            `json:"cwd,omitempty"`
	URL            string            `json:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Secrets        map[string]Secret `json:"secrets,omitempty"`
	Project        bool              `json:"project,omitempty"`
	Scope          scope.Scope       `json:"scope"`
	Sharing        Sharing           `json:"sharing"`
	Protocol       Protocol          `json:"protocol"`
	Roots          bool              `json:"roots"`
	ServerRequests ServerRequests    `json:"serverRequests"`
	EnvPolicy      EnvPolicy         `json:"envPolicy"`
}

// Definition is the server's name and the hash of what is spawned: the spawn
// part, whether a project file set it (threat T6), and the mcpx keys that a
// running process cannot take on. Limits, timeouts, tool lists and descriptions
// are no part of it, so changing them restarts nothing (design §3). It is
// computed anew at each call, in a few microseconds.
func (r *Resolved) Definition() Definition {
	d := definition{
		Command: r.Command, Args: r.Args, Env: r.Env, Cwd: r.Cwd,
		URL: r.URL, Headers: r.Headers, Secrets: r.Secrets,
		Project: r.Tier == Project,
		Scope:   r.Scope, Sharing: r.Sharing, Protocol: r.Protocol, Roots: r.Roots,
		ServerRequests: r.ServerRequests, EnvPolicy: r.EnvPolicy,
	}
	if strings.Contains(r.Command, "/") && !strings.HasPrefix(r.Command, "/") {
		d.Dir = r.Dir
	}
	data, err := json.Marshal(d)
	if err != nil {
		panic("config: a definition of strings does not marshal: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return Definition(r.Name + "@" + hex.EncodeToString(sum[:]))
}
