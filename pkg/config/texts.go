package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// texts are the strings of the spawn part with their field paths, in a fixed
// order.
func (s *RawServer) texts() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, one := range s.allTexts() {
			if !yield(one[0], one[1]) {
				return
			}
		}
	}
}

func (s *RawServer) allTexts() [][2]string {
	all := [][2]string{{"command", s.Command}}
	for i, a := range s.Args {
		all = append(all, [2]string{fmt.Sprintf("args[%d]", i), a})
	}
	for _, k := range sortedKeys(s.Env) {
		all = append(all, [2]string{"env." + k, s.Env[k]})
	}
	all = append(all, [2]string{"cwd", s.Cwd}, [2]string{"url", s.URL})
	for _, k := range sortedKeys(s.Headers) {
		all = append(all, [2]string{"headers." + k, s.Headers[k]})
	}
	if s.Mcpx == nil {
		return all
	}
	for _, k := range sortedKeys(s.Mcpx.Secrets) {
		field, secret := "mcpx.secrets."+k, s.Mcpx.Secrets[k]
		all = append(all, [2]string{field + ".file", secret.File})
		for i, a := range secret.Command {
			all = append(all, [2]string{fmt.Sprintf("%s.command[%d]", field, i), a})
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
