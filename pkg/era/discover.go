package era

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/dezren39/mcpx/pkg/wire"
)

// IsDiscover reports whether result answers server/discover and offers the
// revision mcpx speaks. Anything else is a legacy server's idea of an answer.
func IsDiscover(result []byte) bool {
	var r struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	return json.Unmarshal(result, &r) == nil && slices.Contains(r.SupportedVersions, ModernVersion)
}

// NamesModern reports whether error data lists the revision that mcpx speaks
// among those the server supports (error -32022).
func NamesModern(data []byte) bool {
	var d struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(data, &d) == nil && slices.Contains(d.Supported, ModernVersion)
}

// InitializeFromDiscover makes the initialize result that a legacy host gets
// from a modern server's discover result (protocol §3.5). Members that
// initialize does not know survive. Those that only mean something to a modern
// client go, and so does the resources.subscribe capability, since the modern
// era has no resources/subscribe. name stands in for a server that does not say
// its own.
func InitializeFromDiscover(result []byte, name string) ([]byte, error) {
	if !json.Valid(result) || result[0] != '{' {
		return nil, errors.New("discover result is not an object")
	}
	for _, key := range []string{"supportedVersions", "resultType", "ttlMs", "cacheScope"} {
		result = wire.DeleteMember(result, key)
	}
	capabilities := []byte("{}")
	if at, ok := wire.Member(result, "capabilities"); ok {
		capabilities = withoutSubscribe(result[at.Start:at.End])
	}
	result = wire.ReplaceMember(result, "protocolVersion", wire.AppendString(nil, LegacyVersion))
	result = wire.ReplaceMember(result, "capabilities", capabilities)
	return wire.ReplaceMember(result, "serverInfo", serverInfo(result, name)), nil
}

// serverInfo is what the server says of itself in _meta.
func serverInfo(result []byte, name string) []byte {
	if at, ok := wire.Member(result, "_meta"); ok {
		meta := result[at.Start:at.End]
		if at, ok := wire.Member(meta, keyServer); ok {
			return meta[at.Start:at.End]
		}
	}
	info := appendMember(nil, "name", wire.AppendString(nil, name))
	return wrap(`{`, appendMember(info, "version", []byte(`""`)), `}`)
}

func withoutSubscribe(capabilities []byte) []byte {
	at, ok := wire.Member(capabilities, "resources")
	if !ok {
		return capabilities
	}
	resources := capabilities[at.Start:at.End]
	return wire.ReplaceMember(capabilities, "resources", wire.DeleteMember(resources, "subscribe"))
}
