package fake

import (
	"bytes"
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

// call runs one tool and answers it, if it is a bad one with the faults of answering.
func (s *server) call(m message, cancelled <-chan struct{}, bad bool) {
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
	if bad {
		s.answerBadly(m.ID, content, p.Meta.ProgressToken)
	} else {
		s.answer(m.ID, content)
	}
}

// answerBadly has the faults that were ordered, perhaps none.
func (s *server) answerBadly(id json.RawMessage, content object, token json.RawMessage) {
	var result any = content
	if s.nullResult {
		result = nil
	}
	if s.wrongID {
		id = json.RawMessage("999999")
	}
	line, _ := json.Marshal(object{"jsonrpc": "2.0", "id": id, "result": result})
	switch {
	case s.nonl:
		_, _ = s.out.Write(line)
		s.exit(0, "no newline")
	case s.endlessLine:
		s.neverEnd(line[:len(line)-1])
	case s.badLine:
		twice := append(line[:len(line)-1:len(line)-1], `,"result":{}}`+"\n"...)
		s.raw(append(twice, "{\"jsonrpc\":\x00\xff\xfe\n"...))
		return
	}
	s.answer(id, result)
	if s.double {
		s.answer(id, result)
	}
	if s.progressLate {
		s.progress(token, 99, 99, "late")
		s.progress(json.RawMessage(`"invented"`), 1, 1, "invented")
	}
}

// neverEnd writes the beginning of a line, and then more of it until nobody reads.
func (s *server) neverEnd(line []byte) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_, _ = s.out.Write(append(line, `,"more":"`...))
	more := bytes.Repeat([]byte("x"), 1<<20)
	for {
		if _, err := s.out.Write(more); err != nil {
			s.exit(1, err.Error())
		}
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
	case "storm":
		if s.storm != "" {
			return s.stormFor(time.Duration(a.MS)*time.Millisecond, p.Meta.ProgressToken), answered
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

// stormFor repeats a method, or a line on stderr, as fast as it is read. The answers to a request are
// dropped.
func (s *server) stormFor(long time.Duration, token json.RawMessage) string {
	n := 0
	for end := time.Now().Add(long); time.Now().Before(end); n++ {
		switch s.storm {
		case "notifications/progress":
			s.progress(token, n, n+1, "storm")
		case "notifications/message":
			s.notify(s.storm, object{"level": "info", "data": "storm"})
		case "stderr":
			fmt.Fprintln(s.errOut, "storm", n)
		default:
			m := object{"jsonrpc": "2.0", "method": s.storm}
			if !strings.HasPrefix(s.storm, "notifications/") {
				m["id"] = fmt.Sprint("storm-", n)
			}
			s.write(m)
		}
	}
	return fmt.Sprint("stormed ", n)
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
