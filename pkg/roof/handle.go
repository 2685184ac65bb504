package roof

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/wire"
)

// The two kinds of handles, so that neither is taken for the other.
const (
	cursorTag = "mcpx-cursor-1."
	taskTag   = "mcpx-task-1."
)

// seal makes a string of a server's name and what it gave, a raw JSON string or
// nothing, that comes back from the host as it was.
func seal(tag, server string, raw []byte) string {
	in := binary.AppendUvarint(nil, uint64(len(server)))
	in = append(append(in, server...), raw...)
	return tag + base64.RawURLEncoding.EncodeToString(in)
}

// open takes a sealed string apart. It comes from outside and is trusted in
// nothing: ok is false unless it is one that seal makes, for one of servers.
func open(tag, text string, servers []string) (server string, raw []byte, ok bool) {
	body, ok := strings.CutPrefix(text, tag)
	if !ok {
		return "", nil, false
	}
	in, err := base64.RawURLEncoding.DecodeString(body)
	n, size := binary.Uvarint(in)
	if err != nil || size <= 0 || n > uint64(len(in)-size) {
		return "", nil, false
	}
	server, raw = string(in[size:size+int(n)]), in[size+int(n):]
	if len(raw) > 0 {
		if _, ok := wire.CanonicalID(raw); !ok || raw[0] != '"' {
			return "", nil, false
		}
	}
	return server, raw, slices.Contains(servers, server) && seal(tag, server, raw) == text
}

// Cursor is a place in the lists of several servers: a page of Server's. Own is
// the cursor it gave for that, raw, empty for its first page.
type Cursor struct {
	Server string
	Own    []byte
}

// Text is the cursor as a host sees it.
func (c Cursor) Text() string { return seal(cursorTag, c.Server, c.Own) }

// ReadCursor reads a host's cursor. ok is false when it is none of ours, or that
// of a server which is not among servers: then it is answered like any other
// that nobody knows.
func ReadCursor(text string, servers []string) (c Cursor, ok bool) {
	server, own, ok := open(cursorTag, text, servers)
	if !ok {
		return Cursor{}, false
	}
	return Cursor{server, own}, true
}

// Next is the page after c, when next is the raw cursor that its server gave,
// empty for none: its own next, else the first of the server after it by name.
// ok is false after the last.
func (c Cursor) Next(next []byte, servers []string) (after Cursor, ok bool) {
	if len(next) > 0 {
		return Cursor{c.Server, next}, true
	}
	for _, s := range servers {
		if s > c.Server && (!ok || s < after.Server) {
			after, ok = Cursor{Server: s}, true
		}
	}
	return after, ok
}

// TaskID is the id under which a host knows a server's task; raw is the server's,
// as sent.
func TaskID(server string, raw []byte) string { return seal(taskTag, server, raw) }

// ReadTaskID reads a host's task id; ok as for ReadCursor.
func ReadTaskID(text string, servers []string) (server string, raw []byte, ok bool) {
	server, raw, ok = open(taskTag, text, servers)
	if !ok || len(raw) == 0 {
		return "", nil, false
	}
	return server, raw, true
}

// SealTasks adds to edits those that put the host's task ids in place of the
// server's, wherever method's result, or a notification, names one.
func SealTasks(edits []wire.Edit, env *wire.Envelope, method, server string) []wire.Edit {
	put := func(at wire.Span) {
		if raw := env.Bytes(at); raw != nil && raw[0] == '"' {
			edits = append(edits, wire.Edit{At: at, With: wire.AppendString(nil, TaskID(server, raw))})
		}
	}
	put(env.TaskID)
	put(env.RelatedTaskID)
	if env.Kind != wire.Result {
		return edits
	}
	member := func(in wire.Span, key string) wire.Span {
		at, ok := wire.Member(env.Line[in.Start:in.End], key)
		if !ok {
			return wire.Span{}
		}
		return wire.Span{Start: in.Start + at.Start, End: in.Start + at.End}
	}
	if strings.HasPrefix(method, "tasks/") || env.Text(env.ResultType) == "task" {
		put(member(env.Result, "taskId"))
	}
	put(member(member(env.Result, "task"), "taskId"))
	if method == "tasks/list" {
		list := member(env.Result, "tasks")
		for el := range wire.Elements(env.Bytes(list)) {
			put(member(wire.Span{Start: list.Start + el.Start, End: list.Start + el.End}, "taskId"))
		}
	}
	return edits
}

// OpenTasks adds to edits those that put a server's own task ids in place of the
// host's in a message from it. server is "" when it names none; ok is false when
// one of them is not a task of these servers, or they are not of one.
func OpenTasks(edits []wire.Edit, env *wire.Envelope, servers []string) (out []wire.Edit, server string, ok bool) {
	for _, at := range []wire.Span{env.TaskID, env.RelatedTaskID} {
		if at.Empty() {
			continue
		}
		owner, raw, ok := ReadTaskID(env.Text(at), servers)
		if !ok || server != "" && owner != server {
			return nil, "", false
		}
		server = owner
		edits = append(edits, wire.Edit{At: at, With: raw})
	}
	return edits, server, true
}
