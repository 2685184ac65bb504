package fake

import (
	"encoding/json"
	"io"
	"strings"
)

// handle acts on one message; only tool calls run beside it.
func (s *server) handle(m message) {
	method := m.Method
	if s.promptsOnly && strings.HasPrefix(method, "tools/") || !s.promptsOnly && strings.HasPrefix(method, "prompts/") {
		method = "unknown"
	}
	switch method {
	case "":
		s.take(m)
	case "server/discover":
		s.discovered(m)
	case "initialize":
		s.initialize(m)
	case "notifications/initialized":
		s.initialized()
	case "notifications/roots/list_changed":
		if s.rootsReplace {
			go s.replaceDirs()
		}
	case "notifications/cancelled":
		s.cancel(m)
	case "ping", "logging/setLevel":
		s.answer(m.ID, object{})
	case "tools/list":
		s.listTools(m)
	case "tools/call":
		s.startCall(m)
	case "prompts/list":
		s.answer(m.ID, object{"prompts": []object{{"name": "greet"}}})
	case "prompts/get":
		s.answer(m.ID, object{"messages": []object{{"role": "user", "content": object{"type": "text", "text": "hello"}}}})
	default:
		if m.ID != nil {
			s.fail(m.ID, -32601, "Method not found")
		}
	}
}

func (s *server) initialized() {
	for range s.listStorm {
		s.notify("notifications/tools/list_changed", nil)
	}
	if s.rootsReplace && s.offersRoots() {
		go s.replaceDirs()
	}
	if c, ok := s.out.(io.Closer); ok && s.closeStdout {
		_ = c.Close()
	}
	if s.stopReading {
		s.note("stopped reading", nil)
		select {}
	}
}

func (s *server) cancel(m message) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cancels[string(p.RequestID)]; c != nil {
		close(c)
		delete(s.cancels, string(p.RequestID))
	}
}

func (s *server) startCall(m message) {
	cancelled := make(chan struct{})
	s.mu.Lock()
	s.cancels[string(m.ID)] = cancelled
	s.calls++
	n := s.calls
	s.mu.Unlock()
	if s.dieOnCall || s.dieAfter > 0 && n >= s.dieAfter {
		if s.halfLine {
			s.outMu.Lock() // for good: no other answer may end the line
			_, _ = io.WriteString(s.out, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[{"ty`)
		}
		s.exit(9, "die on call")
	}
	bad := s.firstCalls == 0 || n <= s.firstCalls
	if !bad || !s.hangCall {
		go s.call(m, cancelled, bad)
	}
}
