package config

import (
	"fmt"
	"maps"
	"slices"
)

// value is one string of the spawn part and its field path.
type value struct{ field, text string }

// values are the strings of the spawn part, in a fixed order.
func (s *RawServer) values() []value {
	all := []value{{"command", s.Command}}
	for i, a := range s.Args {
		all = append(all, value{fmt.Sprintf("args[%d]", i), a})
	}
	for _, k := range sortedKeys(s.Env) {
		all = append(all, value{"env." + k, s.Env[k]})
	}
	all = append(all, value{"cwd", s.Cwd}, value{"url", s.URL})
	for _, k := range sortedKeys(s.Headers) {
		all = append(all, value{"headers." + k, s.Headers[k]})
	}
	if s.Mcpx == nil {
		return all
	}
	for _, k := range sortedKeys(s.Mcpx.Secrets) {
		field, secret := "mcpx.secrets."+k, s.Mcpx.Secrets[k]
		all = append(all, value{field + ".file", secret.File})
		for i, a := range secret.Command {
			all = append(all, value{fmt.Sprintf("%s.command[%d]", field, i), a})
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
