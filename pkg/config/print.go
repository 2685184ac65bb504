package config

import (
	"bytes"
	"encoding/json"
)

// Print writes the merged view as a config file that says the same: every key
// written out, keys in a fixed order, placeholders as written, secrets by
// reference. Unless reveal is set, values that may be secret show only their
// placeholders (threat T28).
func (c *Config) Print(reveal bool) ([]byte, error) {
	daemon := c.Daemon.raw()
	out := RawFile{Servers: map[string]RawServer{}, Daemon: &daemon}
	if !reveal {
		daemon.Env = redactValues(daemon.Env)
	}
	for name, r := range c.Servers {
		s := r.Raw()
		if !reveal {
			s = s.Redacted()
		}
		out.Servers[name] = s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return b.Bytes(), err
}

// Raw is the entry that would say the same in one file.
func (r *Resolved) Raw() RawServer {
	idle, start, call := DurationOrNever(r.IdleTimeout), Duration(r.StartTimeout), Duration(r.CallTimeout)
	m := &RawMcpx{
		Scope: &r.Scope, Sharing: &r.Sharing, Max: &r.Max,
		IdleTimeout: &idle, StartTimeout: &start, CallTimeout: &call,
		Tools: r.Tools, ExcludeTools: r.ExcludeTools,
		Protocol: &r.Protocol, Roots: &r.Roots, ServerRequests: &r.ServerRequests,
		EnvPolicy: &r.EnvPolicy, Secrets: r.Secrets,
	}
	if r.Disabled {
		m.Disabled = &r.Disabled
	}
	if r.Description != "" {
		m.Description = &r.Description
	}
	return RawServer{
		Command: r.Command, Args: r.Args, Env: r.Env, Cwd: r.Cwd,
		URL: r.URL, Headers: r.Headers, Mcpx: m,
	}
}

func (d *Daemon) raw() RawDaemon {
	grace, idle := Duration(d.StopGrace), DurationOrNever(d.IdleExit)
	onError := OnError(d.Rules.OnError)
	raw := RawDaemon{
		MaxInstances: &d.MaxInstances, MaxStarts: &d.MaxStarts, StopGrace: &grace, IdleExit: &idle,
		RootsCeiling: d.RootsCeiling, Approve: &d.Approve, ManagementTools: d.ManagementTools,
		Path: d.Path, Env: d.Env,
		Rules: &RawRules{
			OnError:                &onError,
			ApplyToRunningSessions: &d.Rules.ApplyToRunningSessions,
			LogDecisions:           &d.Rules.LogDecisions,
		},
	}
	if d.Rules.Path != "" {
		raw.Rules.Path = &d.Rules.Path
	}
	if d.HTTP != nil {
		auth := Auth(d.HTTP.Auth)
		raw.HTTP = &RawHTTP{Listen: d.HTTP.Listen, Auth: &auth}
	}
	return raw
}

// Source says which line of which file gave a field of a server its value.
type Source struct {
	Server string
	Field  string // as in Resolved.Origins
	Origin Origin
}

// Sources are those of every server, sorted by server and field. A field that
// no file sets has its built-in value, and no source.
func (c *Config) Sources() []Source {
	var all []Source
	for _, name := range c.Names {
		r := c.Servers[name]
		for _, field := range sortedKeys(r.Origins) {
			all = append(all, Source{name, field, r.Origins[field]})
		}
	}
	return all
}
