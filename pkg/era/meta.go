package era

import (
	"bytes"

	"github.com/dezren39/mcpx/pkg/wire"
)

// Meta is what each request to a modern server says of its sender, as raw JSON.
// Empty members are left out, but for the two that a server must be told.
type Meta struct {
	Capabilities []byte // default {}
	ClientInfo   []byte
	LogLevel     string // in place of logging/setLevel
	Workspace    []byte // {"rootUri":…,"workspaceFolders":[…]} (design D5)
}

// Extra is a Meta as text, ready to be put into any number of requests.
type Extra struct {
	all       []byte // every member, comma-separated, without braces
	workspace []byte // those that also go into a request which says the rest itself
}

// Extra renders m.
func (m Meta) Extra() Extra {
	caps := m.Capabilities
	if len(caps) == 0 {
		caps = []byte("{}")
	}
	all := appendMember(nil, keyVersion, wire.AppendString(nil, ModernVersion))
	all = appendMember(all, keyCaps, caps)
	if len(m.ClientInfo) > 0 {
		all = appendMember(all, keyInfo, m.ClientInfo)
	}
	if m.LogLevel != "" {
		all = appendMember(all, keyLogLevel, wire.AppendString(nil, m.LogLevel))
	}
	var workspace []byte
	if len(m.Workspace) > 0 {
		all = appendMember(all, keyWorkspace, m.Workspace)
		workspace = appendMember(nil, keyWorkspace, m.Workspace)
	}
	return Extra{all: all, workspace: workspace}
}

// appendMember appends `"name":value` to comma-separated members.
func appendMember(dst []byte, name string, value []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(wire.AppendString(dst, name), ':')
	return append(dst, value...)
}

// AddMeta returns params, an object or nothing, with x added to its _meta. What
// params holds stays as it was.
func AddMeta(params []byte, x Extra) []byte {
	if len(params) == 0 {
		params = []byte("{}")
	}
	meta := []byte("{}")
	if at, ok := wire.Member(params, "_meta"); ok {
		meta = params[at.Start:at.End]
	}
	return wire.ReplaceMember(params, "_meta", wire.InsertMembers(meta, x.all))
}

// MetaEdit is the edit that puts x into the _meta of the request env without
// touching what is there, so that it never meets an edit of a member. A request
// that names its revision speaks for itself and is told the workspace only; ok
// is false when there is nothing to add.
func MetaEdit(env *wire.Envelope, x Extra) (e wire.Edit, ok bool) {
	add := x.all
	if !env.ProtocolVersion.Empty() {
		add = x.workspace
	}
	if len(add) == 0 || !env.Workspace.Empty() {
		return wire.Edit{}, false
	}
	return addToMeta(env, add), true
}

// addToMeta is the edit that puts members into the params._meta of a request or
// a notification, or the result._meta of a result, in front of what is there.
func addToMeta(env *wire.Envelope, members []byte) wire.Edit {
	outer := env.Params
	if env.Kind == wire.Result {
		outer = env.Result
	}
	meta := wrap(`{`, members, `}`)
	switch {
	case isObject(env, env.Meta):
		return wire.Edit{At: inside(env.Meta), With: leading(env.Bytes(env.Meta), members)}
	case !env.Meta.Empty(): // null
		return wire.Edit{At: env.Meta, With: meta}
	case isObject(env, outer):
		return wire.Edit{At: inside(outer), With: leading(env.Bytes(outer), wrap(`"_meta":`, meta, ``))}
	case !outer.Empty(): // null
		return wire.Edit{At: outer, With: wrap(`{"_meta":`, meta, `}`)}
	}
	after := wire.Span{Start: env.Method.End, End: env.Method.End}
	return wire.Edit{At: after, With: wrap(`,"params":{"_meta":`, meta, `}`)}
}

// Bare adds to edits those that take out of a modern request what it says of its
// sender, for a server that was told in initialize. The rest of its _meta stays.
func Bare(edits []wire.Edit, env *wire.Envelope) []wire.Edit {
	return env.Drop(edits, env.Meta, keyVersion, keyInfo, keyCaps, keyLogLevel)
}

func isObject(env *wire.Envelope, s wire.Span) bool { return !s.Empty() && env.Line[s.Start] == '{' }

// inside is the place after the opening brace of the object at s.
func inside(s wire.Span) wire.Span { return wire.Span{Start: s.Start + 1, End: s.Start + 1} }

// leading is members as they must be written to stand first in object.
func leading(object, members []byte) []byte {
	if isEmpty(object) {
		return members
	}
	return wrap(``, members, `,`)
}

// isEmpty reports whether the object has no members.
func isEmpty(object []byte) bool {
	rest := bytes.TrimLeft(object[1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == '}'
}

func wrap(before string, text []byte, after string) []byte {
	out := make([]byte, 0, len(before)+len(text)+len(after))
	return append(append(append(out, before...), text...), after...)
}
