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
// initialize does not know survive; those that only mean something to a modern
// client go. name stands in for a server that does not say its own.
func InitializeFromDiscover(result []byte, name string) ([]byte, error) {
	if !json.Valid(result) || result[0] != '{' {
		return nil, errors.New("discover result is not an object")
	}
	for _, key := range []string{"supportedVersions", "resultType", "ttlMs", "cacheScope"} {
		result = wire.DeleteMember(result, key)
	}
	capabilities := []byte("{}")
	if at, ok := wire.Member(result, "capabilities"); ok {
		capabilities = result[at.Start:at.End]
	}
	result = wire.ReplaceMember(result, "protocolVersion", wire.AppendString(nil, LegacyVersion))
	result = wire.ReplaceMember(result, "capabilities", capabilities)
	return wire.ReplaceMember(result, "serverInfo", serverInfo(result, name)), nil
}

// DiscoverFromInitialize makes the discover result that a modern host gets from
// a legacy server's initialize result (protocol §3.5). Members that discover does
// not know survive; tasks go, since those of the modern era are others. watched
// are the capabilities ("tools", "prompts", "resources") whose lists mcpx watches
// itself. name stands in for a server that does not say its own.
func DiscoverFromInitialize(result []byte, name string, watched ...string) ([]byte, error) {
	if !json.Valid(result) || result[0] != '{' {
		return nil, errors.New("initialize result is not an object")
	}
	info := emptyInfo(name)
	if at, ok := wire.Member(result, "serverInfo"); ok && result[at.Start] == '{' {
		info = result[at.Start:at.End]
	}
	capabilities := []byte("{}")
	if at, ok := wire.Member(result, "capabilities"); ok && result[at.Start] == '{' {
		capabilities = wire.DeleteMember(result[at.Start:at.End], "tasks")
	}
	for _, kind := range watched {
		if at, ok := wire.Member(capabilities, kind); ok && capabilities[at.Start] == '{' {
			changes := wire.ReplaceMember(capabilities[at.Start:at.End], "listChanged", []byte("true"))
			capabilities = wire.ReplaceMember(capabilities, kind, changes)
		}
	}
	for _, key := range []string{"protocolVersion", "serverInfo"} {
		result = wire.DeleteMember(result, key)
	}
	result = wire.ReplaceMember(result, "supportedVersions", stringList(Supported()))
	result = wire.ReplaceMember(result, "capabilities", capabilities)
	return Complete("server/discover", result, info), nil
}

func stringList(texts []string) []byte {
	list := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			list = append(list, ',')
		}
		list = wire.AppendString(list, text)
	}
	return append(list, ']')
}

// serverInfo is what the server says of itself in _meta.
func serverInfo(result []byte, name string) []byte {
	if at, ok := wire.Member(result, "_meta"); ok {
		meta := result[at.Start:at.End]
		if at, ok := wire.Member(meta, keyServer); ok {
			return meta[at.Start:at.End]
		}
	}
	return emptyInfo(name)
}

func emptyInfo(name string) []byte {
	info := appendMember(nil, "name", wire.AppendString(nil, name))
	return wrap(`{`, appendMember(info, "version", []byte(`""`)), `}`)
}
