package remote

import (
	"encoding/base64"
	"strings"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// Headers of the protocol.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
	headerSession = "Mcp-Session-Id"
	headerLast    = "Last-Event-Id"
)

// mirrored is what a modern request repeats of its body for those who look at
// headers only: "Clients MUST include … on each POST request".
func mirrored(env *wire.Envelope, params []parameter) map[string]string {
	version := env.Text(env.ProtocolVersion)
	if version == "" {
		version = era.ModernVersion
	}
	method := env.Text(env.Method)
	h := map[string]string{headerVersion: encodeValue(version), headerMethod: encodeValue(method)}
	switch method {
	case "tools/call", "prompts/get":
		if !env.Name.Empty() {
			h[headerName] = encodeValue(env.Text(env.Name))
		}
	case "resources/read":
		if !env.URI.Empty() {
			h[headerName] = encodeValue(env.Text(env.URI))
		}
	}
	for name, value := range paramHeaders(env, params) {
		h[headerParam+name] = value
	}
	return h
}

const (
	encodedBefore = "=?base64?"
	encodedAfter  = "?="
)

// encodeValue writes a value so that no header can be made of it: as it is when
// it is plain, else in base64 (threat T33). An empty one is encoded too, since
// servers take an empty header for a missing one.
func encodeValue(v string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if v != "" && v == strings.Trim(v, " \t") && strings.IndexFunc(v, odd) < 0 &&
		!(strings.HasPrefix(v, encodedBefore) && strings.HasSuffix(v, encodedAfter)) {
		return v
	}
	return encodedBefore + base64.StdEncoding.EncodeToString([]byte(v)) + encodedAfter
}

// isSessionID reports whether a server's session id is "visible ASCII".
func isSessionID(id string) bool {
	return id != "" && strings.IndexFunc(id, func(r rune) bool { return r < '!' || r > '~' }) < 0
}
