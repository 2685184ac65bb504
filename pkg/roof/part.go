package roof

import (
	"encoding/json"
	"fmt"

	"github.com/dezren39/mcpx/pkg/wire"
)

// PartsMember is the member of a list's _meta that says whose the items are.
const PartsMember = "dev.mcpx/servers"

// Part is what one server has in a list: so many items in a row, after those of
// the parts before.
type Part struct {
	Server  string `json:"server"`
	Items   int    `json:"items"`
	Trouble string `json:"trouble,omitempty"` // why it has none, or not all of its own
}

// Parts are those of the list in its order; failed says why a server gave none.
func (l *List) Parts(failed map[string]string) []Part {
	items, left := map[string]int{}, map[string]int{}
	for _, name := range l.order {
		items[l.targets[name].Server]++
	}
	why := map[string]string{}
	for _, x := range l.Left {
		if left[x.Server]++; left[x.Server] == 1 {
			if why[x.Server] = x.Why; x.Item != "" {
				why[x.Server] = fmt.Sprintf("%q is left out: %s", x.Item, x.Why)
			}
		}
	}
	parts := make([]Part, len(l.servers))
	for i, server := range l.servers {
		trouble := failed[server]
		if n := left[server]; trouble == "" && n > 0 {
			trouble = why[server]
			if n > 1 {
				trouble += fmt.Sprintf(" (and %d more)", n-1)
			}
		}
		parts[i] = Part{server, items[server], trouble}
	}
	return parts
}

// Answer is the list as a host is given it: Result and, in its _meta, the parts.
func (l *List) Answer(failed map[string]string) []byte {
	parts, err := json.Marshal(map[string]any{PartsMember: l.Parts(failed)})
	if err != nil {
		return l.Result // strings and numbers: there is no such case
	}
	return wire.ReplaceMember(l.Result, "_meta", parts)
}

// PartsOf reads them from a list that a host was given; nil when it has none.
func PartsOf(result []byte) []Part {
	var list struct {
		Meta struct {
			Parts []Part `json:"dev.mcpx/servers"`
		} `json:"_meta"`
	}
	if json.Unmarshal(result, &list) != nil {
		return nil
	}
	return list.Meta.Parts
}
