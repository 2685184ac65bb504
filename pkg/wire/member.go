package wire

import "unicode/utf8"

// field names a Span of the Envelope.
type field uint8

const (
	fieldVersion field = iota
	fieldID
	fieldMethod
	fieldParams
	fieldResult
	fieldError
	fieldMeta
	fieldName
	fieldURI
	fieldCursor
	fieldRequestID
	fieldToken
	fieldTaskID
	fieldTask
	fieldLevel
	fieldElicitationID
	fieldRequestState
	fieldInputResponses
	fieldRef
	fieldRefName
	fieldRefURI
	fieldProgressToken
	fieldProtocolVersion
	fieldClientInfo
	fieldClientCapabilities
	fieldLogLevel
	fieldSubscriptionID
	fieldRelatedTask
	fieldRelatedTaskID
	fieldWorkspace
	fieldResultType
	fields
)

// A field is a bit in a scanner's sets.
const _ uint32 = 1 << (fields - 1)

// shape is what a member's value may be, so that no decoder can make another
// thing of it: ["rm"] as a tool's name is "rm" to JavaScript.
type shape uint8

const (
	anyShape    shape = iota
	textShape         // a string or null
	tokenShape        // a string, a number or null
	objectShape       // an object or null
)

// member is one name a decision hangs on.
type member struct {
	name   string
	folded string // name in lower case
	field  field
	shape  shape
	inside []member // the names that count in its value
	null   bool     // a null is worth a Span
	lax    bool     // may be repeated or misspelt: the peers decide
}

// The names on which something is decided (threat T7), by the object they are
// in. Never changed.
var (
	messageMembers = []member{
		{name: "jsonrpc", folded: "jsonrpc", field: fieldVersion},
		{name: "id", folded: "id", field: fieldID, shape: tokenShape, null: true},
		{name: "method", folded: "method", field: fieldMethod, shape: textShape},
		{name: "params", folded: "params", field: fieldParams, shape: objectShape, inside: paramsMembers, null: true},
		{name: "result", folded: "result", field: fieldResult, inside: resultMembers, null: true},
		{name: "error", folded: "error", field: fieldError},
	}
	paramsMembers = []member{
		{name: "name", folded: "name", field: fieldName, shape: textShape},
		{name: "_meta", folded: "_meta", field: fieldMeta, shape: objectShape, inside: metaMembers, null: true},
		{name: "uri", folded: "uri", field: fieldURI, shape: textShape},
		{name: "cursor", folded: "cursor", field: fieldCursor, shape: textShape},
		{name: "requestId", folded: "requestid", field: fieldRequestID, shape: tokenShape},
		{name: "progressToken", folded: "progresstoken", field: fieldToken, shape: tokenShape},
		{name: "taskId", folded: "taskid", field: fieldTaskID, shape: textShape},
		{name: "task", folded: "task", field: fieldTask},
		{name: "level", folded: "level", field: fieldLevel, shape: textShape},
		{name: "elicitationId", folded: "elicitationid", field: fieldElicitationID, shape: textShape},
		{name: "requestState", folded: "requeststate", field: fieldRequestState, shape: textShape},
		{name: "inputResponses", folded: "inputresponses", field: fieldInputResponses, shape: objectShape},
		{name: "ref", folded: "ref", field: fieldRef, shape: objectShape, inside: refMembers},
	}
	refMembers = []member{
		{name: "name", folded: "name", field: fieldRefName, shape: textShape},
		{name: "uri", folded: "uri", field: fieldRefURI, shape: textShape},
	}
	metaMembers = []member{
		{name: "progressToken", folded: "progresstoken", field: fieldProgressToken, shape: tokenShape},
		{name: "io.modelcontextprotocol/protocolVersion", folded: "io.modelcontextprotocol/protocolversion", field: fieldProtocolVersion, shape: textShape},
		{name: "io.modelcontextprotocol/clientInfo", folded: "io.modelcontextprotocol/clientinfo", field: fieldClientInfo, shape: objectShape},
		{name: "io.modelcontextprotocol/clientCapabilities", folded: "io.modelcontextprotocol/clientcapabilities", field: fieldClientCapabilities, shape: objectShape},
		{name: "io.modelcontextprotocol/logLevel", folded: "io.modelcontextprotocol/loglevel", field: fieldLogLevel, shape: textShape},
		{name: "io.modelcontextprotocol/subscriptionId", folded: "io.modelcontextprotocol/subscriptionid", field: fieldSubscriptionID, shape: tokenShape},
		{name: "io.modelcontextprotocol/related-task", folded: "io.modelcontextprotocol/related-task", field: fieldRelatedTask, shape: objectShape, inside: relatedTaskMembers},
		{name: "dev.mcpx/workspace", folded: "dev.mcpx/workspace", field: fieldWorkspace},
	}
	relatedTaskMembers = []member{
		{name: "taskId", folded: "taskid", field: fieldRelatedTaskID, shape: textShape},
	}
	resultMembers = []member{
		{name: "_meta", folded: "_meta", field: fieldMeta, shape: objectShape, inside: metaMembers, null: true},
		{name: "resultType", folded: "resulttype", field: fieldResultType, lax: true, null: true},
	}
)

// maxName is longer than every folded name.
const maxName = 48

// find looks key, a checked string's inside as sent, up in among. exact is false
// when it only comes to the same name for some decoders.
func find(among []member, key []byte) (m *member, exact bool) {
	for i := range among {
		if among[i].name == string(key) {
			return &among[i], true
		}
	}
	var buf [maxName]byte
	n := fold(&buf, key)
	for i := range among {
		if among[i].folded == string(buf[:n]) && !among[i].lax {
			return &among[i], false
		}
	}
	return nil, false
}

// fold writes key unescaped and in lower case, as far as a decoder that ends
// strings at NUL or drops lone surrogates would read it, and returns its
// length; 0 when no name can be meant. Under Unicode simple folding the long s
// and the Kelvin sign are the only characters beyond ASCII that fold into it.
func fold(buf *[maxName]byte, key []byte) int {
	n := 0
	for len(key) > 0 {
		r, size, lone := nextRune(key)
		key = key[size:]
		switch {
		case lone:
			continue
		case r == 0:
			return n
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r == 'ſ':
			r = 's'
		case r == '\u212A':
			r = 'k'
		case r >= utf8.RuneSelf:
			return 0
		}
		if n == len(buf) {
			return 0
		}
		buf[n] = byte(r)
		n++
	}
	return n
}

// span is where the envelope keeps f; nil when it does not.
func (e *Envelope) span(f field) *Span {
	switch f {
	case fieldID:
		return &e.ID
	case fieldMethod:
		return &e.Method
	case fieldParams:
		return &e.Params
	case fieldResult:
		return &e.Result
	case fieldError:
		return &e.Error
	case fieldMeta:
		return &e.Meta
	case fieldName:
		return &e.Name
	case fieldURI:
		return &e.URI
	case fieldCursor:
		return &e.Cursor
	case fieldRequestID:
		return &e.RequestID
	case fieldToken:
		return &e.Token
	case fieldTaskID:
		return &e.TaskID
	case fieldTask:
		return &e.Task
	case fieldLevel:
		return &e.Level
	case fieldElicitationID:
		return &e.ElicitationID
	case fieldRequestState:
		return &e.RequestState
	case fieldInputResponses:
		return &e.InputResponses
	case fieldRef:
		return &e.Ref
	case fieldRefName:
		return &e.RefName
	case fieldRefURI:
		return &e.RefURI
	case fieldProgressToken:
		return &e.ProgressToken
	case fieldProtocolVersion:
		return &e.ProtocolVersion
	case fieldClientInfo:
		return &e.ClientInfo
	case fieldClientCapabilities:
		return &e.ClientCapabilities
	case fieldLogLevel:
		return &e.LogLevel
	case fieldSubscriptionID:
		return &e.SubscriptionID
	case fieldRelatedTaskID:
		return &e.RelatedTaskID
	case fieldWorkspace:
		return &e.Workspace
	case fieldResultType:
		return &e.ResultType
	}
	return nil
}
