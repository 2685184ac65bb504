package era

import (
	"slices"

	"github.com/dezren39/mcpx/pkg/wire"
)

// ResultType is what a modern server's result is.
type ResultType uint8

// The types of results. One that names another is not to be acted on.
const (
	ResultUnknown       ResultType = iota
	ResultComplete                 // also a result that does not say, as all legacy ones
	ResultInputRequired            // the server asks first: ReadInputRequired
)

// TypeOf is the type of the result env.
func TypeOf(env *wire.Envelope) ResultType {
	raw := env.Bytes(env.ResultType)
	if raw == nil || raw[0] == 'n' || string(raw) == `"complete"` {
		return ResultComplete // nothing is allocated for nearly all of them
	}
	switch text, _ := wire.Text(raw); text {
	case "complete":
		return ResultComplete
	case "input_required":
		return ResultInputRequired
	}
	return ResultUnknown
}

// CompleteEdits adds to edits those that make the result env of a legacy server
// one for a modern host: its type, its serverInfo, and for the methods whose
// results may be kept, that this one may not (protocol §3.5). What the server
// said itself stays, but for values that the modern era does not allow. info is
// raw JSON, nil for none.
func CompleteEdits(edits []wire.Edit, env *wire.Envelope, method string, info []byte) []wire.Edit {
	result := env.Bytes(env.Result)
	if string(result) == "null" {
		return append(edits, wire.Edit{At: env.Result, With: Complete(method, []byte("{}"), info)})
	}
	if !isObject(env, env.Result) {
		return edits
	}
	add := make([]byte, 0, 128+len(info)) // what goes in front
	switch {
	case env.ResultType.Empty():
		add = appendMember(add, "resultType", []byte(`"complete"`))
	case env.Line[env.ResultType.Start] != '"':
		edits = append(edits, wire.Edit{At: env.ResultType, With: []byte(`"complete"`)})
	}
	if slices.Contains(cacheable, method) {
		for _, hint := range []struct {
			key, value string
			valid      func(raw []byte) bool
		}{{"ttlMs", `0`, isCount}, {"cacheScope", `"private"`, isCacheScope}} {
			switch at, ok := wire.Member(result, hint.key); {
			case !ok:
				add = appendMember(add, hint.key, []byte(hint.value))
			case !hint.valid(result[at.Start:at.End]):
				at = wire.Span{Start: env.Result.Start + at.Start, End: env.Result.Start + at.End}
				edits = append(edits, wire.Edit{At: at, With: []byte(hint.value)})
			}
		}
	}
	switch {
	case info == nil || hasServer(env):
	case env.Meta.Empty():
		add = append(appendMember(add, "_meta", []byte(`{"`+keyServer+`":`)), info...)
		add = append(add, '}')
	default:
		edits = append(edits, addToMeta(env, appendMember(nil, keyServer, info)))
	}
	if len(add) > 0 {
		if !isEmpty(result) {
			add = append(add, ',')
		}
		edits = append(edits, wire.Edit{At: inside(env.Result), With: add})
	}
	return edits
}

// Complete is CompleteEdits on a result that is not in a line. What could not
// stand in one stays as it is.
func Complete(method string, result, info []byte) []byte {
	line := wrap(`{"id":0,"result":`, result, `}`)
	env, err := wire.Scan(line)
	if err != nil {
		return result
	}
	line = env.Append(nil, CompleteEdits(nil, &env, method, info)...)
	return line[env.Result.Start : len(line)-len("}\n")]
}

func hasServer(env *wire.Envelope) bool {
	if !isObject(env, env.Meta) {
		return false
	}
	_, ok := wire.Member(env.Bytes(env.Meta), keyServer)
	return ok
}

func isCount(raw []byte) bool { _, ok := wire.Uint(raw); return ok && raw[0] != '"' }

func isCacheScope(raw []byte) bool {
	text, _ := wire.Text(raw)
	return text == "private" || text == "public"
}
