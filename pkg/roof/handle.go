package roof

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/wire"
)

// taskTag begins the task ids that hosts see.
const taskTag = "mcpx-task-1."

// seal makes a string of a server's name and what it gave, a raw JSON string or
// nothing, that comes back from the host as it was.
func seal(server string, raw []byte) string {
	in := binary.AppendUvarint(nil, uint64(len(server)))
	in = append(append(in, server...), raw...)
	return taskTag + base64.RawURLEncoding.EncodeToString(in)
}

// open takes a sealed string apart. It comes from outside and is trusted in
// nothing: ok is false unless it is one that seal makes, for one of servers.
func open(text string, servers []string) (server string, raw []byte, ok bool) {
	body, ok := strings.CutPrefix(text, taskTag)
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
	return server, raw, slices.Contains(servers, server) && seal(server, raw) == text
}

// TaskID is the id under which a host knows a server's task; raw is the server's,
// as sent.
func TaskID(server string, raw []byte) string { return seal(server, raw) }

// ReadTaskID reads a host's task id. ok is false when it is none of ours, or that of a
// server which is not among servers.
func ReadTaskID(text string, servers []string) (server string, raw []byte, ok bool) {
	server, raw, ok = open(text, servers)
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
