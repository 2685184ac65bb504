package mux

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/era"
	"github.com/dezren39/mcpx/pkg/wire"
)

// serverInfo is what an initialize result says of the server; nil for nothing.
func serverInfo(initialize []byte) []byte {
	at, ok := wire.Member(initialize, "serverInfo")
	if info := initialize[at.Start:at.End]; ok && info[0] == '{' {
		return info
	}
	return nil
}

// toServer are the edits by which a request suits the server's era: what a
// modern server is told with each, and a legacy one never.
func (m *Mux) toServer(edits []wire.Edit, p *Port, env *wire.Envelope, modern bool) []wire.Edit {
	switch {
	case m.modern():
		meta, _ := era.MetaEdit(env, p.introduction())
		edits = append(edits, meta)
		if modern && m.asking == AskNever {
			edits = append(edits, wire.Edit{At: env.ClientCapabilities, With: unasked(env.Bytes(env.ClientCapabilities))})
		}
	case modern:
		edits = era.Bare(edits, env)
		if !env.InputResponses.Empty() || !env.RequestState.Empty() {
			edits = era.First(edits, env)
		}
	}
	return edits
}

// unasked are capabilities without those by which a host lets itself be asked.
func unasked(caps []byte) []byte {
	return wire.DeleteMember(wire.DeleteMember(caps, "sampling"), "elicitation")
}

// deliver gives the server's answer to the caller of c, which is in no table any
// more.
func (m *Mux) deliver(c *call, env *wire.Envelope) {
	defer m.finish(c)
	if c.answer != nil {
		c.answer <- m.replyOf(env)
		return
	}
	var few [8]wire.Edit
	edits := append(few[:0], wire.Edit{At: env.ID, With: c.hostID})
	switch {
	case c.modern && !m.modern() && env.Kind == wire.Result:
		edits = era.CompleteEdits(edits, env, c.method, m.info)
	case c.modern && !m.modern():
		if m.urlQuestions(c, env) {
			return
		}
		if e, ok := era.ErrorEdit(env, c.method); ok {
			edits = append(edits, e)
		}
	case c.modern && m.asking == AskNever && asksHost(c.method, env):
		m.answerError(c, m.internal(`the server asks its user, and "serverRequests" is "refuse"`))
		return
	case !c.modern && m.modern():
		if e := m.unreadable(env); e != nil {
			m.answerError(c, e)
			return
		}
	}
	if env.Kind == wire.Error && !c.modern {
		m.elicited(env, c.port)
	}
	edits = append(edits, m.answeredTask(c, env))
	line := m.line()
	*line = env.Append(*line, edits...)
	c.port.peer.Response(c.method, *line)
	m.give(line)
}

// asksHost reports whether a modern server's answer asks for what only a host has.
func asksHost(method string, env *wire.Envelope) bool {
	if env.Kind != wire.Result || era.TypeOf(env) != era.ResultInputRequired {
		return false
	}
	asks, _, _ := era.ReadInputRequired(method, env.Bytes(env.Result)) // what is not valid is the host's to judge
	return slices.ContainsFunc(asks, func(a era.Ask) bool { return a.Method != "roots/list" })
}

// urlQuestions answers a modern host with the pages that a legacy server wants
// opened first; false when the error is another.
func (m *Mux) urlQuestions(c *call, env *wire.Envelope) bool {
	asks, ok := era.URLQuestions(env, c.method)
	if !ok {
		return false
	}
	if r := era.Lacks(c.caps, asks...); r != nil {
		m.answerError(c, &Error{Code: r.Code, Msg: r.Msg, Data: r.Data})
		return true
	}
	line := m.line()
	defer m.give(line)
	*line = wire.AppendResult(*line, c.hostID, era.InputRequired(asks, "", m.info))
	c.port.peer.Response(c.method, *line)
	return true
}

// unreadable is the error in place of a modern server's answer that a legacy host
// could not understand; nil for one that it can.
func (m *Mux) unreadable(env *wire.Envelope) *Error {
	if env.Kind == wire.Result {
		if era.TypeOf(env) == era.ResultUnknown {
			return m.internal("the server's answer is of the type %s, which mcpx does not know", env.Bytes(env.ResultType))
		}
		return nil
	}
	switch e := m.answered(env.Bytes(env.Error)); e.Code {
	case era.CodeMissingCapability:
		return m.internal("the server needs %s of the host, which it does not offer: %s", required(e.Data), e.Msg)
	case era.CodeUnsupportedVersion:
		e = m.internal("the server does not speak %s any more: %s", era.ModernVersion, e.Msg)
		e.Hint = fmt.Sprintf("mcpx restart %s: its era is then asked for again", m.server)
		return e
	}
	return nil
}

// required names the capabilities in the data of an error.
func required(data []byte) string {
	at, _ := wire.Member(data, "requiredCapabilities")
	all := data[at.Start:at.End]
	var names []string
	for name := range wire.Members(all) {
		text, _ := wire.Text(all[name.Start:name.End])
		names = append(names, text)
	}
	if len(names) == 0 {
		return "a capability"
	}
	return strings.Join(names, " and ")
}

// answerError answers c with an error; the caller finishes it.
func (m *Mux) answerError(c *call, e *Error) {
	line := m.line()
	defer m.give(line)
	*line = e.Append(*line, c.hostID)
	c.port.peer.Response(c.method, *line)
}
