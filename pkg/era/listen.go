package era

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/wire"
)

// maxURIs is the most resources that one listen may name (threat T34).
const maxURIs = 10_000

// Filter says of what a subscriptions/listen is to be told (protocol §1.4). URIs
// are sorted, each once.
type Filter struct {
	Tools, Prompts, Resources bool // their lists
	URIs                      []string
}

// ReadFilter reads params.notifications of a listen request, or of what
// acknowledges one.
func ReadFilter(params []byte) (f Filter, err error) {
	at, ok := wire.Member(params, "notifications")
	if !ok || params[at.Start] != '{' {
		return f, errors.New("notifications is missing, or not an object")
	}
	object := params[at.Start:at.End]
	for _, list := range []struct {
		key string
		to  *bool
	}{{"toolsListChanged", &f.Tools}, {"promptsListChanged", &f.Prompts}, {"resourcesListChanged", &f.Resources}} {
		at, ok := wire.Member(object, list.key)
		switch raw := string(object[at.Start:at.End]); {
		case !ok, raw == "null", raw == "false":
		case raw == "true":
			*list.to = true
		default:
			return Filter{}, fmt.Errorf("notifications.%s is not a boolean", list.key)
		}
	}
	f.URIs, err = readURIs(object)
	if err != nil {
		return Filter{}, err
	}
	return f, nil
}

func readURIs(object []byte) ([]string, error) {
	at, ok := wire.Member(object, "resourceSubscriptions")
	if !ok || object[at.Start] == 'n' {
		return nil, nil
	}
	list := object[at.Start:at.End]
	if list[0] != '[' {
		return nil, errors.New("notifications.resourceSubscriptions is not a list")
	}
	var uris []string
	for el := range wire.Elements(list) {
		uri, ok := wire.Text(list[el.Start:el.End])
		if !ok {
			return nil, errors.New("notifications.resourceSubscriptions has an entry that is not a string")
		}
		if len(uris) == maxURIs {
			return nil, fmt.Errorf("notifications.resourceSubscriptions has more than %d entries", maxURIs)
		}
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	return slices.Compact(uris), nil
}

// Empty reports whether f asks for nothing.
func (f Filter) Empty() bool { return !f.Tools && !f.Prompts && !f.Resources && len(f.URIs) == 0 }

// Equal reports whether f and g ask for the same.
func (f Filter) Equal(g Filter) bool {
	return f.Tools == g.Tools && f.Prompts == g.Prompts && f.Resources == g.Resources && slices.Equal(f.URIs, g.URIs)
}

// Honoured is the part of f that is in what a server acknowledged.
func (f Filter) Honoured(by Filter) Filter {
	part := Filter{Tools: f.Tools && by.Tools, Prompts: f.Prompts && by.Prompts, Resources: f.Resources && by.Resources}
	for _, uri := range f.URIs {
		if _, ok := slices.BinarySearch(by.URIs, uri); ok {
			part.URIs = append(part.URIs, uri)
		}
	}
	return part
}

// Offered is the part of f that a legacy server can be made to serve: the lists
// it has, and its resources if it lets them be subscribed to. capabilities are
// those of its initialize result, raw.
func (f Filter) Offered(capabilities []byte) Filter {
	has := func(path ...string) bool { return declares(capabilities, path) }
	part := Filter{Tools: f.Tools && has("tools"), Prompts: f.Prompts && has("prompts"), Resources: f.Resources && has("resources")}
	if at, ok := wire.Member(capabilities, "resources"); ok {
		resources := capabilities[at.Start:at.End]
		if at, ok := wire.Member(resources, "subscribe"); ok && string(resources[at.Start:at.End]) == "true" {
			part.URIs = f.URIs
		}
	}
	return part
}

// Wants reports whether f asks for a notification of this method; uri is that of
// resources/updated, which may be of a part of what was subscribed to.
func (f Filter) Wants(method, uri string) bool {
	switch method {
	case "notifications/tools/list_changed":
		return f.Tools
	case "notifications/prompts/list_changed":
		return f.Prompts
	case "notifications/resources/list_changed":
		return f.Resources
	case "notifications/resources/updated":
		return slices.ContainsFunc(f.URIs, func(sub string) bool {
			return uri == sub || strings.HasPrefix(uri, strings.TrimSuffix(sub, "/")+"/")
		})
	}
	return false
}

// object is f as the protocol writes it.
func (f Filter) object() []byte {
	var members []byte
	for _, list := range []struct {
		key string
		on  bool
	}{{"toolsListChanged", f.Tools}, {"promptsListChanged", f.Prompts}, {"resourcesListChanged", f.Resources}} {
		if list.on {
			members = appendMember(members, list.key, []byte("true"))
		}
	}
	if len(f.URIs) > 0 {
		members = appendMember(members, "resourceSubscriptions", stringList(f.URIs))
	}
	return wrap(`{`, members, `}`)
}

// ListenParams are the params of the subscriptions/listen that asks for f; what
// each request says of its sender is added like to any other.
func (f Filter) ListenParams() []byte { return wrap(`{"notifications":`, f.object(), `}`) }

// AppendAcknowledged appends the notification, a whole line, that tells a host
// what it will be told on its listen request; id is that request's, as sent.
func (f Filter) AppendAcknowledged(dst, id []byte) []byte {
	params := slices.Concat([]byte(`{"_meta":`), subscription(id), []byte(`,"notifications":`), f.object(), []byte(`}`))
	return wire.AppendNotification(dst, "notifications/subscriptions/acknowledged", params)
}

func subscription(id []byte) []byte { return wrap(`{`, appendMember(nil, keySubscription, id), `}`) }

// Unstamped adds to edits those that take out of a notification to which of our
// listen requests it belongs; a _meta that says nothing else goes with it.
func Unstamped(edits []wire.Edit, env *wire.Envelope) []wire.Edit {
	if env.SubscriptionID.Empty() {
		return edits
	}
	members := 0
	for range wire.Members(env.Bytes(env.Meta)) {
		members++
	}
	if members > 1 {
		return env.Drop(edits, env.Meta, keySubscription)
	}
	return env.Drop(edits, env.Params, "_meta")
}

// StampEdit is the edit that marks a notification, or the end of a listen, as
// belonging to the host's listen request id, as sent.
func StampEdit(env *wire.Envelope, id []byte) wire.Edit {
	if at, ok := wire.Member(env.Bytes(env.Meta), keySubscription); ok {
		return wire.Edit{At: wire.Span{Start: env.Meta.Start + at.Start, End: env.Meta.Start + at.End}, With: id}
	}
	return addToMeta(env, appendMember(nil, keySubscription, id))
}
