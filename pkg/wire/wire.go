// Package wire works on single JSON-RPC lines as bytes: it finds the members a
// multiplexer needs and replaces them in place, so that everything else arrives
// as it was sent (design D7). It allocates only for what it changes. It knows
// where members are, not what they mean: translation is era's and mux's.
package wire

// Kind is what a line is.
type Kind uint8

// The four kinds of a JSON-RPC message.
const (
	Invalid Kind = iota
	Request
	Notification
	Result
	Error
)

// Span is a half-open range of bytes in a line; Start == End means absent.
type Span struct{ Start, End int }

// Empty reports whether the span covers nothing: the member is absent.
func (s Span) Empty() bool { return s.Start == s.End }

// Envelope says where the members a multiplexer looks at lie in Line. Values
// include quotes and braces, as sent. Absent members have an empty Span, and so
// have members that are null, but for Params, Meta and ResultType: there a null
// is kept, so that whoever adds to them replaces it.
type Envelope struct {
	Line   []byte // without the line end
	Kind   Kind
	ID     Span // of an Error, empty when null
	Method Span
	Params Span // the object, braces included
	Result Span
	Error  Span

	Meta           Span // params._meta, or result._meta of a Result
	Name           Span // params.name
	URI            Span // params.uri
	Cursor         Span // params.cursor
	RequestID      Span // params.requestId       (notifications/cancelled)
	Token          Span // params.progressToken   (notifications/progress)
	TaskID         Span // params.taskId
	Task           Span // params.task            (a request to be run as a task)
	Level          Span // params.level           (logging/setLevel, notifications/message)
	ElicitationID  Span // params.elicitationId   (notifications/elicitation/complete)
	RequestState   Span // params.requestState    (the retry of an input_required)
	InputResponses Span // params.inputResponses (the same)
	Ref            Span // params.ref             (completion/complete)
	RefName        Span // params.ref.name
	RefURI         Span // params.ref.uri

	ProgressToken      Span // _meta.progressToken
	ProtocolVersion    Span // _meta["io.modelcontextprotocol/protocolVersion"]
	ClientInfo         Span // _meta["io.modelcontextprotocol/clientInfo"]
	ClientCapabilities Span // _meta["io.modelcontextprotocol/clientCapabilities"]
	LogLevel           Span // _meta["io.modelcontextprotocol/logLevel"]
	SubscriptionID     Span // _meta["io.modelcontextprotocol/subscriptionId"]
	RelatedTaskID      Span // _meta["io.modelcontextprotocol/related-task"].taskId
	Workspace          Span // _meta["dev.mcpx/workspace"]

	ResultType Span // result.resultType; the last one when repeated
}

// Bytes is the part of the line that s covers, as sent; nil when absent.
func (e *Envelope) Bytes(s Span) []byte {
	if s.Empty() {
		return nil
	}
	return e.Line[s.Start:s.End:s.End]
}

// Text is the decoded string that s covers; "" when absent or not a string.
func (e *Envelope) Text(s Span) string {
	text, _ := Text(e.Bytes(s))
	return text
}
