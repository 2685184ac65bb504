package config

import (
	"net/netip"
	"net/url"
	"strings"
)

// checkLocal holds what a server with a process must keep.
func (d *decoder) checkLocal(s *RawServer) {
	if strings.Contains(s.Command, " ") && !strings.Contains(s.Command, "/") {
		d.reportAt("command", fault{
			msg:  "holds a space: command names one program, and is never split",
			hint: `put the rest in "args"`,
			warn: true,
		})
	}
	if s.Headers != nil {
		d.reportAt("headers", fault{msg: "not used without url", hint: "remove it", warn: true})
	}
	for _, name := range sortedKeys(s.Env) {
		d.checkEnvName("env."+name, name)
	}
	if s.Mcpx != nil {
		for _, name := range sortedKeys(s.Mcpx.Secrets) {
			d.checkEnvName("mcpx.secrets."+name, name)
		}
	}
}

func (d *decoder) checkEnvName(field, name string) {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		d.reportAt(field, fault{msg: "not a name for an environment variable", hint: "use letters, digits and _"})
	}
}

// checkRemote holds what a server with a url must keep.
func (d *decoder) checkRemote(s *RawServer) {
	for _, field := range []string{"args", "env", "cwd"} {
		if _, set := d.at[field]; set {
			d.reportAt(field, fault{msg: "not used with url: there is no process", hint: "remove it", warn: true})
		}
	}
	for _, name := range sortedKeys(s.Headers) {
		d.checkHeader("headers."+name, name)
		if strings.ContainsAny(s.Headers[name], "\r\n") {
			d.reportAt("headers."+name, fault{msg: "holds a line break", hint: "write it on one line"})
		}
	}
	if s.Mcpx != nil {
		for _, name := range sortedKeys(s.Mcpx.Secrets) {
			d.checkHeader("mcpx.secrets."+name, name)
		}
	}
	if s.URL != "" && !hasPlaceholder(s.URL) {
		d.checkURL(s)
	}
}

// checkHeader wants an HTTP token, so that no name smuggles a line (threat T33).
func (d *decoder) checkHeader(field, name string) {
	bad := strings.IndexFunc(name, func(r rune) bool {
		return r > '~' || !isAlnum(byte(r)) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
	if name == "" || bad >= 0 {
		d.reportAt(field, fault{msg: "not a name for a header", hint: "use letters, digits and -"})
	}
}

// checkURL never quotes the address: userinfo and query may be secret.
func (d *decoder) checkURL(s *RawServer) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		d.reportAt("url", fault{msg: "not an http or https address", hint: `write it out: "https://host/path"`})
	case u.Scheme == "http" && !loopback(u.Hostname()) && s.hasCredentials(u):
		d.reportAt("url", fault{msg: "credentials would cross the network unencrypted", hint: "use https"})
	}
}

func (s *RawServer) hasCredentials(u *url.URL) bool {
	return u.User != nil || len(s.Headers) > 0 || s.Mcpx != nil && len(s.Mcpx.Secrets) > 0
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
