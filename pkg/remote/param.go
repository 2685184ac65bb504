package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dezren39/mcpx/pkg/wire"
)

// parameter is an argument of a tool that is repeated in a header: where in the
// arguments it is, and the header's name without its prefix.
type parameter struct {
	path []string
	name string
}

// toolParams knows the parameters of the tools that a list has shown.
type toolParams struct {
	mu  sync.Mutex // guards all
	all map[string][]parameter
}

// maxTools bounds what is remembered of a server's tools (threat T34).
const maxTools = 10_000

func (t *toolParams) of(tool string) []parameter {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[tool]
}

func (t *toolParams) set(tool string, params []parameter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(params) == 0:
		delete(t.all, tool)
	case len(t.all) < maxTools:
		if t.all == nil {
			t.all = map[string][]parameter{}
		}
		t.all[tool] = params
	}
}

const annotation = "x-mcp-header"

// learn takes the result of a tools/list in and returns it without the tools
// whose annotations are not valid: "the client MUST exclude the invalid tool".
// dropped says which, and why. What is left keeps its bytes.
func (t *toolParams) learn(result []byte) (kept []byte, dropped []string) {
	at, ok := wire.Member(result, "tools")
	if !ok {
		return result, nil
	}
	list := result[at.Start:at.End]
	var out []byte
	for item := range wire.Elements(list) {
		raw := list[item.Start:item.End]
		var tool struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(raw, &tool) == nil {
			params, err := parametersOf(tool.InputSchema)
			if err != nil {
				t.set(tool.Name, nil)
				dropped = append(dropped, fmt.Sprintf("%s: %v", plain(tool.Name), err))
				continue
			}
			t.set(tool.Name, params)
		}
		if out != nil {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	if dropped == nil {
		return result, nil
	}
	return slices.Concat(result[:at.Start], []byte{'['}, out, []byte{']'}, result[at.End:]), dropped
}

// parametersOf finds the annotated properties of a tool's schema, by path. They
// count only where a chain of "properties" leads to them.
func parametersOf(schema []byte) ([]parameter, error) {
	if !bytes.Contains(schema, []byte(annotation)) && bytes.IndexByte(schema, '\\') < 0 {
		return nil, nil
	}
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return nil, nil // it is the server's business what that means
	}
	w := schemaWalk{seen: map[string]bool{}}
	err := w.schema(root, nil, true)
	return w.found, err
}

type schemaWalk struct {
	found []parameter
	seen  map[string]bool // names in lower case
}

// dataKeywords hold values, not schemas.
var dataKeywords = []string{"const", "default", "enum", "examples"}

func (w *schemaWalk) schema(s map[string]any, path []string, reachable bool) error {
	if name, ok := s[annotation]; ok {
		if err := w.annotated(s, name, path, reachable); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		properties, isMap := s[key].(map[string]any)
		switch {
		case key == annotation || slices.Contains(dataKeywords, key):
		case key == "properties" && isMap:
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				if sub, ok := properties[name].(map[string]any); ok {
					if err := w.schema(sub, append(slices.Clone(path), name), reachable); err != nil {
						return err
					}
				}
			}
		default:
			if err := w.elsewhere(s[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// elsewhere looks where no annotation may be.
func (w *schemaWalk) elsewhere(v any) error {
	switch v := v.(type) {
	case map[string]any:
		return w.schema(v, nil, false)
	case []any:
		for _, sub := range v {
			if err := w.elsewhere(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *schemaWalk) annotated(s map[string]any, value any, path []string, reachable bool) error {
	name, _ := value.(string)
	kind, _ := s["type"].(string)
	where := strings.Join(path, ".")
	switch {
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s stands where no chain of properties leads", annotation)
	case !isToken(name):
		return fmt.Errorf("%s of %q is not a name for a header", annotation, where)
	case w.seen[strings.ToLower(name)]:
		return fmt.Errorf("%s %q is there twice", annotation, name)
	case !slices.Contains([]string{"string", "integer", "boolean"}, kind):
		return fmt.Errorf("%s of %q is on type %q", annotation, where, kind)
	}
	w.seen[strings.ToLower(name)] = true
	w.found = append(w.found, parameter{path, name})
	return nil
}

func isToken(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) < 0
}

// paramHeaders are the values of a call's annotated arguments, by header name
// without its prefix. Those that are null, absent or of another type have none.
func paramHeaders(env *wire.Envelope, params []parameter) map[string]string {
	headers := map[string]string{}
	if len(params) == 0 {
		return headers
	}
	at, ok := wire.Member(env.Bytes(env.Params), "arguments")
	if !ok {
		return headers
	}
	arguments := env.Bytes(env.Params)[at.Start:at.End]
	for _, p := range params {
		if value, ok := primitive(lookup(arguments, p.path)); ok {
			headers[p.name] = encodeValue(value)
		}
	}
	return headers
}

func lookup(object []byte, path []string) []byte {
	for _, name := range path {
		at, ok := wire.Member(object, name)
		if !ok {
			return nil
		}
		object = object[at.Start:at.End]
	}
	return object
}

// primitive writes a string, a boolean or a whole number as headers have them.
func primitive(raw []byte) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		const safe = 1<<53 - 1
		if v != math.Trunc(v) || math.Abs(v) > safe {
			return "", false
		}
		return strconv.FormatInt(int64(v), 10), true
	}
	return "", false
}

// Repeats are the arguments that a modern call repeats in headers, by the schema
// of its tool: plain values by the whole names of the headers, nil for an argument
// that the call does not have. A schema that is wrong repeats nothing.
func Repeats(schema []byte, env *wire.Envelope) map[string]*string {
	params, err := parametersOf(schema)
	if err != nil {
		return nil
	}
	all := map[string]*string{}
	var arguments []byte
	if at, ok := wire.Member(env.Bytes(env.Params), "arguments"); ok {
		arguments = env.Bytes(env.Params)[at.Start:at.End]
	}
	for _, p := range params {
		all[headerParam+p.name] = nil
		if value, ok := primitive(lookup(arguments, p.path)); ok {
			all[headerParam+p.name] = &value
		}
	}
	return all
}
