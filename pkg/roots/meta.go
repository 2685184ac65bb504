package roots

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// MetaCheckout is the checkout that a request's params._meta names, "" when it
// names none or more than one. Codex puts {"workspaces": {"<top level>": …}}
// under x-codex-turn-metadata, as an object or as a string that holds one.
func MetaCheckout(meta []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(meta, &members) != nil {
		return ""
	}
	turn := []byte(members["x-codex-turn-metadata"])
	var text string
	if json.Unmarshal(turn, &text) == nil {
		turn = []byte(text)
	}
	var data struct {
		Workspaces map[string]json.RawMessage `json:"workspaces"`
	}
	if json.Unmarshal(turn, &data) != nil || len(data.Workspaces) != 1 {
		return ""
	}
	checkout := slices.Collect(maps.Keys(data.Workspaces))[0]
	if !strings.HasPrefix(checkout, "/") {
		return ""
	}
	return checkout
}
