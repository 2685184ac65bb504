package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dezren39/mcpx/pkg/config"
)

var index = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[\d+\]`) })

// shapes are the kinds each value of a rules file may be of, by its field
// without indexes.
func shapes() map[string]string {
	return map[string]string{
		"": "{", "default": `"[`, "default[]": `"`,
		"rules": "[", "rules[]": "{", "rules[].path": `"`, "rules[].servers": `"[`, "rules[].servers[]": `"`,
	}
}

// checkRules holds the shape of a rules file: a default and rows of path and
// servers, where servers are "*" or a list of names.
func checkRules(file string, data []byte, servers []string) config.Problems {
	nodes, p := config.Nodes(file, data)
	if p != nil {
		return config.Problems{*p}
	}
	var out config.Problems
	seen := map[string]bool{}
	for _, n := range nodes {
		if msg, hint, warn := ruleFault(n, seen[n.Field], servers); msg != "" {
			q := problem(n.At, "", n.Field, "", msg, hint)
			q.Warning = warn
			out = append(out, q)
		}
		seen[n.Field] = true
	}
	return append(out, incompleteRows(nodes, seen)...)
}

func ruleFault(n config.Node, twice bool, servers []string) (msg, hint string, warn bool) {
	field := index().ReplaceAllString(n.Field, "[]")
	kinds, known := shapes()[field]
	list := field == "default" || field == "rules[].servers"
	switch {
	case !known:
		return "unknown key", "known here: default, rules; in a rule: path, servers", false
	case twice:
		return "set twice", "keep one of the two", false
	case !strings.Contains(kinds, string(n.Kind)), list && n.Kind == '"' && n.Value != "*":
		return "is not of the right kind", `write { "default": "*", "rules": [ { "path": "~/src", "servers": ["NAME"] } ] }`, false
	case field == "rules[].path" && n.Value == "":
		return "is empty", "name a directory: ~/src", false
	case strings.HasSuffix(field, "[]") && n.Kind == '"' && !slices.Contains(servers, n.Value):
		hint = "there are: " + strings.Join(servers, " ")
		if near := config.DidYouMean(n.Value, servers); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fmt.Sprintf("no server is called %q", n.Value), hint, true
	}
	return "", "", false
}

// incompleteRows finds rules without a path or servers.
func incompleteRows(nodes []config.Node, seen map[string]bool) config.Problems {
	var out config.Problems
	for _, n := range nodes {
		if index().ReplaceAllString(n.Field, "[]") != "rules[]" || n.Kind != '{' {
			continue
		}
		for _, key := range []string{".path", ".servers"} {
			if !seen[n.Field+key] {
				out = append(out, problem(n.At, "", n.Field+key, "", "is missing", `a rule is { "path": "~/src", "servers": ["NAME"] }`))
			}
		}
	}
	return out
}
