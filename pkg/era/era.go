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

// legacyVersions are the revisions that are opened by initialize, newest first.
var legacyVersions = [...]string{LegacyVersion, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}

// hostVersions are those that a host may open with: all but the oldest, which
// had another shape and is known from servers only.
var hostVersions = legacyVersions[:len(legacyVersions)-1]

// IsLegacy reports whether v is a revision that is opened by initialize.
func IsLegacy(v string) bool { return slices.Contains(legacyVersions[:], v) }

// Negotiate is the revision in which a host is answered that asked for one by
// initialize: its own if it may, else the newest; never a modern one.
func Negotiate(asked string) string {
	if slices.Contains(hostVersions, asked) {
		return asked
	}
	return LegacyVersion
}

// Supported are the revisions in which a host may speak to mcpx, newest first.
func Supported() []string { return append([]string{ModernVersion}, hostVersions...) }

// Keys in a modern message's _meta (protocol §1.2, design D5.3).
const (
	keyVersion      = "io.modelcontextprotocol/protocolVersion"
	keyCaps         = "io.modelcontextprotocol/clientCapabilities"
	keyInfo         = "io.modelcontextprotocol/clientInfo"
	keyLogLevel     = "io.modelcontextprotocol/logLevel"
	keyServer       = "io.modelcontextprotocol/serverInfo"
	keySubscription = "io.modelcontextprotocol/subscriptionId"
	keyWorkspace    = "dev.mcpx/workspace"
	extensionTasks  = "io.modelcontextprotocol/tasks"
)

// Error codes of the modern era, and the two of the legacy one that it forbids.
const (
	CodeMissingCapability  = -32021 // data.requiredCapabilities
	CodeUnsupportedVersion = -32022 // data.supported, data.requested
	codeResourceNotFound   = -32002
	codeURLElicitation     = -32042
)

// cacheable are the methods whose complete results say how long they keep
// (protocol §1.4, Caching).
var cacheable = []string{
	"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
}

// asking are the methods that a server may answer with a question (MRTR).
var asking = []string{"tools/call", "prompts/get", "resources/read"}

// MayAsk reports whether method is one that a server may answer with questions
// to the host's user (protocol §1.4, MRTR).
func MayAsk(method string) bool { return slices.Contains(asking, method) }

// The methods that one era has and the other does not (protocol §1.4). Those of
// tasks that both have mean another thing in each.
var (
	onlyLegacy = []string{
		"initialize", "notifications/initialized", "ping", "tasks/list", "tasks/result", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"notifications/roots/list_changed", "notifications/elicitation/complete",
	}
	onlyModern = []string{"server/discover", "subscriptions/listen", "notifications/subscriptions/acknowledged"}
)

// Has reports whether the era of modern or of legacy peers has the method, as
// far as one of the two is known not to.
func Has(modern bool, method string) bool {
	if modern {
		return !slices.Contains(onlyLegacy, method)
	}
	return !slices.Contains(onlyModern, method)
}
