// Package era translates between the two protocol eras: the sessions of
// initialize, and the self-contained requests of 2026-07-28 (design D6,
// protocol §3.5). It works on raw params and results and sends nothing.
package era

import "slices"

// The revisions that mcpx asks for.
const (
	LegacyVersion = "2025-11-25"
	ModernVersion = "2026-07-28"
)

// legacyVersions are the revisions that are opened by initialize.
var legacyVersions = [...]string{LegacyVersion, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}

// IsLegacy reports whether v is a revision that is opened by initialize.
func IsLegacy(v string) bool { return slices.Contains(legacyVersions[:], v) }

// Keys in a modern message's _meta (protocol §1.2, design D5.3).
const (
	keyVersion   = "io.modelcontextprotocol/protocolVersion"
	keyCaps      = "io.modelcontextprotocol/clientCapabilities"
	keyInfo      = "io.modelcontextprotocol/clientInfo"
	keyLogLevel  = "io.modelcontextprotocol/logLevel"
	keyServer    = "io.modelcontextprotocol/serverInfo"
	keyWorkspace = "dev.mcpx/workspace"
)

// CodeUnsupportedVersion is the error code of a modern server that is asked in
// a revision it does not speak; its data lists those it does.
const CodeUnsupportedVersion = -32022
