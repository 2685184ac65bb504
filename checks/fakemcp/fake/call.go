package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// params are a tools/call's.
type params struct {
	Name      string `json:"name"`
	Arguments struct {
		Text   string          `json:"text"`
		Key    string          `json:"key"`
		Value  string          `json:"value"`
		MS     int             `json:"ms"`
		N      int             `json:"n"`
		MiB    float64         `json:"mib"`
		Params json.RawMessage `json:"params"`
	} `json:"arguments"`
	Meta struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// call runs one tool and answers it, with the faults of answering.
func (s *server) call(m message, cancelled <-chan struct{}) {
	defer func() {
		s.mu.Lock()
		delete(s.cancels, string(m.ID))
		s.mu.Unlock()
	}()
	var p params
	_ = json.Unmarshal(m.Params, &p)
	text, outcome := s.use(p, cancelled)
	switch outcome {
	case unanswered:
		s.note("unanswered", m.ID)
		return
	case unknownTool:
		s.fail(m.ID, -32602, "unknown tool "+p.Name)
		return
	}
	content := object{"content": []object{{"type": "text", "text": text}}}
	if isModern(m) {
		content["resultType"] = "complete"
	}
	var result any = content
	if s.nullResult {
		result = nil
	}
	id := m.ID
	if s.wrongID {
		id = json.RawMessage("999999")
	}
	if s.nonl {
		b, _ := json.Marshal(object{"jsonrpc": "2.0", "id": id, "result": result})
		_, _ = s.out.Write(b)
		s.exit(0, "no newline")
	}
	s.answer(id, result)
	if s.double {
		s.answer(id, result)
	}
	if s.progressLate {
		s.progress(p.Meta.ProgressToken, 99, 99, "late")
		s.progress(json.RawMessage(`"invented"`), 1, 1, "invented")
	}
}

type outcome int

const (
	answered outcome = iota
	unanswered
	unknownTool
)

// use does what the tool does.
func (s *server) use(p params, cancelled <-chan struct{}) (string, outcome) {
	a := p.Arguments
	switch p.Name {
	case "echo":
		return a.Text, answered
	case "sleep":
		select {
		case <-time.After(time.Duration(a.MS) * time.Millisecond):
			return "slept", answered
		case <-cancelled:
			s.note("cancelled", nil)
			return "", unanswered
		}
	case "progress":
		for i := range max(a.N, 1) {
			s.progress(p.Meta.ProgressToken, i+1, max(a.N, 1), a.Text)
			time.Sleep(time.Duration(a.MS) * time.Millisecond)
		}
		return "progressed " + a.Text, answered
	case "log":
		s.notify("notifications/message", object{"level": "info", "logger": s.name, "data": a.Text})
		return "logged", answered
	case "big":
		n := int(a.MiB * (1 << 20))
		if n <= 0 {
			n = 2 << 20
		}
		return strings.Repeat("0123456789abcdef", n/16+1)[:n], answered
	case "die":
		_, _ = io.WriteString(s.errOut, "fakemcp: told to die\n")
		s.exit(9, "die tool")
	case "forget":
		return "", unanswered
	case "ask":
		if s.askMethod != "" {
			return s.askInCall(p, cancelled)
		}
	}
	if text, ok := s.tell(p); ok {
		return text, answered
	}
	if text, ok := s.remember(p); ok {
		return text, answered
	}
	return "", unknownTool
}

func (s *server) progress(token json.RawMessage, n, total int, text string) {
	if len(token) == 0 {
		return
	}
	s.notify("notifications/progress", object{"progressToken": token, "progress": n, "total": total, "message": text})
}

// remember is for the tools with state in the process.
func (s *server) remember(p params) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := p.Arguments
	switch {
	case p.Name == "count":
		s.counter++
		return fmt.Sprintf("%d pid %d", s.counter, os.Getpid()), true
	case p.Name == "set" && s.stateful:
		s.values[a.Key] = a.Value
		return "set", true
	case p.Name == "get" && s.stateful:
		return s.values[a.Key], true
	}
	return "", false
}
