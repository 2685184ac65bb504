package era

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dezren39/mcpx/pkg/wire"
)

// Refusal is an error that a modern host is answered with.
type Refusal struct {
	Code int
	Msg  string
	Data []byte // raw JSON, nil for none
}

func (r *Refusal) Error() string { return r.Msg }

// Admit checks that a modern host's request says what each must: the revision,
// one that mcpx speaks, and what the host can do (protocol §1.2). A request that
// does not name its revision at all is refused too: who may be a legacy host is
// for the caller to know.
func Admit(env *wire.Envelope) *Refusal {
	version := env.Bytes(env.ProtocolVersion)
	switch {
	case version == nil:
		return &Refusal{Code: wire.CodeInvalidParams, Msg: `_meta lacks "` + keyVersion + `"`}
	case env.Text(env.ProtocolVersion) != ModernVersion:
		data := appendMember(nil, "supported", stringList(Supported()))
		return &Refusal{
			Code: CodeUnsupportedVersion,
			Msg:  "unsupported protocol version " + strconv.Quote(env.Text(env.ProtocolVersion)),
			Data: wrap(`{`, appendMember(data, "requested", version), `}`),
		}
	case env.ClientCapabilities.Empty():
		return &Refusal{Code: wire.CodeInvalidParams, Msg: `_meta lacks "` + keyCaps + `"`}
	}
	return nil
}

// ErrorEdit is the edit that gives a legacy server's error a code that a modern
// host may see. ok is false when it has one.
func ErrorEdit(env *wire.Envelope, method string) (e wire.Edit, ok bool) {
	code, at := errorCode(env)
	switch {
	case code == codeResourceNotFound && method == "resources/read":
		return wire.Edit{At: at, With: strconv.AppendInt(nil, wire.CodeInvalidParams, 10)}, true
	case code == codeResourceNotFound, code == codeURLElicitation:
		return wire.Edit{At: at, With: strconv.AppendInt(nil, wire.CodeInternal, 10)}, true
	}
	return wire.Edit{}, false
}

func errorCode(env *wire.Envelope) (code int, at wire.Span) {
	object := env.Bytes(env.Error)
	at, ok := wire.Member(object, "code")
	if !ok {
		return 0, wire.Span{}
	}
	code, _ = strconv.Atoi(string(object[at.Start:at.End])) // a fraction is no code that is known
	return code, wire.Span{Start: env.Error.Start + at.Start, End: env.Error.Start + at.End}
}

// URLQuestions are the pages that a legacy server wants its user to see before it
// answers (error -32042, 2025-11-25), as questions for InputRequired. ok is false
// for any other error, and for one that names none. There is no state: on the
// retry the same request is sent once more, without the answers.
func URLQuestions(env *wire.Envelope, method string) (asks []Ask, ok bool) {
	code, _ := errorCode(env)
	if code != codeURLElicitation || !MayAsk(method) {
		return nil, false
	}
	object := env.Bytes(env.Error)
	at, _ := wire.Member(object, "data")
	data := object[at.Start:at.End]
	at, _ = wire.Member(data, "elicitations")
	list := data[at.Start:at.End]
	for el := range wire.Elements(list) {
		params := list[el.Start:el.End]
		if params[0] != '{' || len(asks) == maxAsks {
			return nil, false
		}
		params = wire.ReplaceMember(params, "mode", []byte(`"url"`))
		asks = append(asks, Ask{Key: fmt.Appendf(nil, `"r%d"`, len(asks)+1), Method: "elicitation/create", Params: params})
	}
	return asks, len(asks) > 0
}

// Lacks is the refusal for a host that has not declared what it takes to answer
// asks; nil when it has. caps are its capabilities, raw, of either era.
func Lacks(caps []byte, asks ...Ask) *Refusal {
	for _, a := range asks {
		path := a.needs()
		if declares(caps, path) {
			continue
		}
		object := `{}`
		for i := len(path) - 1; i >= 0; i-- {
			object = `{"` + path[i] + `":` + object + `}`
		}
		return &Refusal{
			Code: CodeMissingCapability,
			Msg:  "the server asks for " + a.Method + ", and the client does not declare " + strings.Join(path, "."),
			Data: []byte(`{"requiredCapabilities":` + object + `}`),
		}
	}
	return nil
}

// needs is the capability that a question takes.
func (a Ask) needs() []string {
	switch a.Method {
	case "elicitation/create":
		at, _ := wire.Member(a.Params, "mode")
		if mode, _ := wire.Text(a.Params[at.Start:at.End]); mode == "url" {
			return []string{"elicitation", "url"}
		}
		return []string{"elicitation", "form"}
	case "sampling/createMessage":
		for _, key := range []string{"tools", "toolChoice"} {
			if _, ok := wire.Member(a.Params, key); ok {
				return []string{"sampling", "tools"}
			}
		}
		return []string{"sampling"}
	}
	return []string{"roots"}
}

// declares reports whether caps has the member at path. Who declares elicitation
// and no mode of it means forms.
func declares(caps []byte, path []string) bool {
	for i, key := range path {
		at, ok := wire.Member(caps, key)
		if !ok && i == 1 && key == "form" {
			_, url := wire.Member(caps, "url")
			return !url
		}
		if !ok || caps[at.Start] != '{' {
			return false
		}
		caps = caps[at.Start:at.End]
	}
	return true
}
