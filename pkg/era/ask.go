package era

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dezren39/mcpx/pkg/wire"
)

// maxAsks is the most that a server may ask at once.
const maxAsks = 64

// questions are the requests that a server may put to its host.
var questions = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// Ask is a question of a server's to the host: in the legacy era a request, in
// the modern one an entry of inputRequests.
type Ask struct {
	Key    []byte // as sent, quotes included
	Method string
	Params []byte // an object, nil for none
}

// Answer is what the host says to the question of the same key.
type Answer struct{ Key, Result []byte }

// InputRequired is the result that puts asks to a modern host. state comes back
// with its answers, "" for none; one of the two there must be. info is the
// server's, raw, nil for none.
func InputRequired(asks []Ask, state string, info []byte) []byte {
	result := []byte(`{"resultType":"input_required"`)
	if len(asks) > 0 {
		result = append(result, `,"inputRequests":{`...)
		for i, a := range asks {
			if i > 0 {
				result = append(result, ',')
			}
			result = append(append(result, a.Key...), `:{"method":`...)
			result = append(wire.AppendString(result, a.Method), `,"params":`...)
			if len(a.Params) == 0 {
				result = append(result, "{}"...) // go-sdk does not read a question without
			}
			result = append(append(result, a.Params...), '}')
		}
		result = append(result, '}')
	}
	if state != "" {
		result = wire.AppendString(append(result, `,"requestState":`...), state)
	}
	if info != nil {
		result = append(append(result, `,"_meta":{"`+keyServer+`":`...), info...)
		result = append(result, '}')
	}
	return append(result, '}')
}

// ReadRetry reads the answers and the state that a modern host sends with its
// request once more. ok is false when there are neither. A state that is not a
// string was refused by wire.Scan.
func ReadRetry(env *wire.Envelope) (answers []Answer, state string, ok bool) {
	object := env.Bytes(env.InputResponses)
	for name, value := range wire.Members(object) {
		answers = append(answers, Answer{Key: object[name.Start:name.End], Result: object[value.Start:value.End]})
	}
	return answers, env.Text(env.RequestState), !env.InputResponses.Empty() || !env.RequestState.Empty()
}

// First adds to edits those that make of a retry the request it was at first.
func First(edits []wire.Edit, env *wire.Envelope) []wire.Edit {
	return env.Drop(edits, env.Params, "inputResponses", "requestState")
}

// ReadInputRequired reads what a modern server asks in answer to method: the
// questions in their order, and the state as sent, nil for none. Without
// questions the request may be sent again at once. An error says what makes the
// result invalid.
func ReadInputRequired(method string, result []byte) (asks []Ask, state []byte, err error) {
	if !MayAsk(method) {
		return nil, nil, fmt.Errorf("%s may not be answered with input_required", method)
	}
	if at, ok := wire.Member(result, "requestState"); ok && result[at.Start] != 'n' {
		if state = result[at.Start:at.End]; state[0] != '"' {
			return nil, nil, errors.New("requestState is not a string")
		}
	}
	at, ok := wire.Member(result, "inputRequests")
	switch {
	case !ok || result[at.Start] == 'n':
		if state == nil {
			return nil, nil, errors.New("input_required has neither inputRequests nor requestState")
		}
		return nil, state, nil
	case result[at.Start] != '{':
		return nil, nil, errors.New("inputRequests is not an object")
	}
	asks, err = readAsks(result[at.Start:at.End])
	return asks, state, err
}

func readAsks(object []byte) ([]Ask, error) {
	var asks []Ask
	seen := map[string]bool{}
	for name, value := range wire.Members(object) {
		raw := object[name.Start:name.End]
		key, _ := wire.Text(raw)
		if len(asks) == maxAsks {
			return nil, fmt.Errorf("inputRequests has more than %d entries", maxAsks)
		}
		if seen[key] {
			return nil, fmt.Errorf("inputRequests has %q twice", key)
		}
		seen[key] = true
		a, err := readAsk(raw, object[value.Start:value.End])
		if err != nil {
			return nil, fmt.Errorf("inputRequests[%q]: %w", key, err)
		}
		asks = append(asks, a)
	}
	return asks, nil
}

func readAsk(key, request []byte) (Ask, error) {
	a := Ask{Key: key}
	at, _ := wire.Member(request, "method")
	method, ok := wire.Text(request[at.Start:at.End])
	if !ok || !slices.Contains(questions, method) {
		return a, fmt.Errorf("the method %s is not one that a server may ask", request[at.Start:at.End])
	}
	a.Method = method
	if at, ok := wire.Member(request, "params"); ok && request[at.Start] != 'n' {
		if a.Params = request[at.Start:at.End]; a.Params[0] != '{' {
			return a, errors.New("params is not an object")
		}
	}
	return a, nil
}

// Retry is the params of the request that a modern server has asked about, with
// the answers and the state it gave, byte for byte; state is nil when it gave
// none. params are those of the first time.
func Retry(params []byte, answers []Answer, state []byte) []byte {
	if len(params) == 0 || params[0] != '{' {
		params = []byte("{}")
	}
	params = wire.DeleteMember(wire.DeleteMember(params, "inputResponses"), "requestState")
	var add, list []byte
	for i, a := range answers {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(append(append(list, a.Key...), ':'), a.Result...)
	}
	if len(answers) > 0 {
		add = appendMember(nil, "inputResponses", wrap(`{`, list, `}`))
	}
	if state != nil {
		add = appendMember(add, "requestState", state)
	}
	return wire.InsertMembers(params, add)
}

// ClientCapabilities are a legacy host's capabilities, raw, as they are told to a
// modern server: tasks are not those of its era, a promise to tell of moved roots
// has no meaning there, and mcpx answers for the roots itself, if it has any.
func ClientCapabilities(caps []byte, roots bool) []byte {
	if len(caps) == 0 || caps[0] != '{' {
		caps = []byte("{}")
	}
	caps = wire.DeleteMember(caps, "tasks")
	if at, ok := wire.Member(caps, "extensions"); ok {
		caps = wire.ReplaceMember(caps, "extensions", wire.DeleteMember(caps[at.Start:at.End], extensionTasks))
	}
	if !roots {
		return wire.DeleteMember(caps, "roots")
	}
	return wire.ReplaceMember(caps, "roots", []byte("{}"))
}
