package roots

import (
	"encoding/json"
	"fmt"
)

// maxNative bounds what one host may put into a session (threat T35).
const maxNative = 64

// ParseNative reads the result of MCP's roots/list. Every root is kept; one
// that is no directory here is Ignored with the reason (report C14). Path is
// as the host wrote it: Seed makes it canonical. This file alone knows the
// shape of MCP's roots, so that it can go when the feature goes (design D10).
func ParseNative(result []byte) ([]Root, error) {
	var list struct {
		Roots []struct {
			URI  string `json:"uri"`
			Name string `json:"name"`
		} `json:"roots"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, fmt.Errorf("roots/list: not the shape of a result")
	}
	var rs []Root
	for i, r := range list.Roots {
		if i == maxNative {
			rs = append(rs, Root{Origin: Native,
				Ignored: fmt.Sprintf("%d more: at most %d are kept", len(list.Roots)-maxNative, maxNative)})
			break
		}
		root := Root{URI: r.URI, Name: r.Name, Origin: Native}
		if p, err := Path(r.URI); err != nil {
			root.Ignored = err.Error()
		} else {
			root.Path = p
		}
		rs = append(rs, root)
	}
	return rs, nil
}

// List is the result of roots/list that a server is answered with: the roots
// that are not ignored, in order.
func List(rs []Root) []byte {
	list := struct {
		Roots []folder `json:"roots"`
	}{Roots: []folder{}}
	for _, r := range rs {
		if r.Ignored == "" {
			list.Roots = append(list.Roots, folder{r.URI, r.Name})
		}
	}
	return encode(list)
}
