package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/dezren39/mcpx/pkg/scope"
)

// checkMcpx holds what an mcpx block, or the defaults, must keep.
func (d *decoder) checkMcpx(m *RawMcpx, field string) {
	if m.Scope != nil && *m.Scope == parentSession {
		*m.Scope = scope.PSession
	}
	d.checkPatterns(field+".tools", m.Tools)
	d.checkPatterns(field+".excludeTools", m.ExcludeTools)
	for _, name := range sortedKeys(m.Secrets) {
		secret := m.Secrets[name]
		if (secret.File == "") == (len(secret.Command) == 0) {
			d.reportAt(field+".secrets."+name, fault{
				msg:  "needs one of file and command",
				hint: `write { "file": "~/.secrets/…" } or { "command": ["…"] }`,
			})
		}
	}
}

func (d *decoder) checkPatterns(field string, patterns []string) {
	for i, p := range patterns {
		if _, err := compilePattern(p); err != nil {
			d.reportAt(fmt.Sprintf("%s[%d]", field, i), fault{
				msg:  fmt.Sprintf("%q: %v", p, err),
				hint: "write a tool's name, a glob such as git_*, or a /regular expression/",
			})
		}
	}
}

func (d *decoder) checkDaemon(m *RawDaemon) {
	if m.HTTP != nil && !listenable(m.HTTP.Listen) {
		d.at["daemon.http.listen"] = d.firstOf("daemon.http.listen", "daemon.http")
		d.reportAt("daemon.http.listen", fault{
			msg:  fmt.Sprintf("%q is not a loopback address with a port", m.HTTP.Listen),
			hint: `write "127.0.0.1:7780"`,
		})
		m.HTTP = nil
	}
	for i, dir := range m.Path {
		d.checkDirectory(fmt.Sprintf("daemon.path[%d]", i), dir)
	}
	for i, dir := range m.RootsCeiling {
		d.checkDirectory(fmt.Sprintf("daemon.rootsCeiling[%d]", i), dir)
	}
	if m.Rules != nil && m.Rules.Path != nil && !strings.HasPrefix(*m.Rules.Path, "/") && !strings.HasPrefix(*m.Rules.Path, "~/") {
		d.reportAt("daemon.rules.path", fault{msg: fmt.Sprintf("%q is not an absolute path", *m.Rules.Path), hint: "write it out from / or ~/"})
	}
	for _, name := range sortedKeys(m.Env) {
		d.checkEnvName("daemon.env."+name, name)
		if hasPlaceholder(m.Env[name]) {
			d.reportAt("daemon.env."+name, fault{
				msg:  "${mcpx.…} is not substituted here",
				hint: "it is in args, env values and cwd of a server",
				rule: "placeholder",
			})
		}
	}
}

func (d *decoder) checkDirectory(field, dir string) {
	if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~/") && dir != "~" {
		d.reportAt(field, fault{msg: fmt.Sprintf("%q is not an absolute directory", dir), hint: "write it out from / or ~/"})
	}
}

func (d *decoder) firstOf(fields ...string) Origin {
	for _, f := range fields {
		if at, ok := d.at[f]; ok {
			return at
		}
	}
	return Origin{}
}

// listenable keeps the HTTP front on this machine: other addresses are not
// offered (threats §4).
func listenable(addr string) bool {
	if port, ok := strings.CutPrefix(addr, "localhost:"); ok {
		addr = "127.0.0.1:" + port
	}
	ap, err := netip.ParseAddrPort(addr) // port 0: any that is free
	return err == nil && ap.Addr().IsLoopback()
}
