package fake

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

const modernVersion = "2026-07-28"

var legacyVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func (s *server) capabilities() object {
	if s.promptsOnly {
		return object{"prompts": object{}}
	}
	return object{"tools": object{"listChanged": true}, "logging": object{}}
}

// discovered answers server/discover, which a legacy server does not know.
func (s *server) discovered(m message) {
	mode := s.discover
	if s.modernOnly {
		mode = "modern"
	}
	switch mode {
	case "zero":
		s.fail(m.ID, 0, `method "server/discover" is invalid during session initialization`)
	case "silent":
	case "exit":
		s.exit(4, "server/discover")
	case "modern":
		s.shakeHands(m)
		s.answer(m.ID, object{
			"resultType":        "complete",
			"supportedVersions": []string{modernVersion},
			"capabilities":      s.capabilities(),
			"ttlMs":             0,
			"cacheScope":        "private",
			"_meta":             object{"io.modelcontextprotocol/serverInfo": object{"name": s.name, "version": "1"}},
		})
	default:
		code, err := strconv.Atoi(mode)
		if err != nil {
			code = -32601
		}
		s.fail(m.ID, code, "Method not found")
	}
}

func (s *server) initialize(m message) {
	if s.modernOnly {
		s.fail(m.ID, -32601, "Method not found")
		return
	}
	if s.early {
		s.notify("notifications/message", object{"level": "info", "data": "before initialize was answered"})
		go func() { s.note("early roots/list", s.ask("roots/list", nil)) }()
		time.Sleep(50 * time.Millisecond)
	}
	if s.hangInit {
		return
	}
	if s.initError {
		s.fail(m.ID, -32603, "initialize failed: no licence")
		return
	}
	if strange := s.strangers(m.Params); len(strange) > 0 {
		s.fail(m.ID, -32602, "Invalid params: unknown members "+strings.Join(strange, ", "))
		return
	}
	time.Sleep(s.initDelay)
	s.shakeHands(m)
	s.answer(m.ID, object{
		"protocolVersion": s.version(m.Params),
		"capabilities":    s.capabilities(),
		"serverInfo":      object{"name": s.name, "version": "1"},
	})
}

// shakeHands keeps the handshake for whoami.
func (s *server) shakeHands(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshake = m.Params
}

// version is what was asked for, if it is known.
func (s *server) version(params json.RawMessage) string {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p)
	switch {
	case s.protocol != "":
		return s.protocol
	case slices.Contains(legacyVersions, p.ProtocolVersion):
		return p.ProtocolVersion
	}
	return legacyVersions[len(legacyVersions)-1]
}

// strangers are the members that a server with a validated model refuses.
func (s *server) strangers(params json.RawMessage) []string {
	var p map[string]json.RawMessage
	_ = json.Unmarshal(params, &p)
	var strange []string
	if s.strictInitialize {
		strange = append(strange, unknownKeys(p, "protocolVersion", "capabilities", "clientInfo", "_meta")...)
	}
	if s.strictInitialize || s.strictCaps {
		var caps map[string]json.RawMessage
		_ = json.Unmarshal(p["capabilities"], &caps)
		strange = append(strange, unknownKeys(caps, "experimental", "roots", "sampling", "elicitation", "tasks", "extensions")...)
	}
	return strange
}

func unknownKeys(m map[string]json.RawMessage, known ...string) []string {
	var unknown []string
	for key := range m {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// offersRoots reports whether the client declared the roots capability.
func (s *server) offersRoots() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p struct {
		Capabilities struct {
			Roots json.RawMessage `json:"roots"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(s.handshake, &p)
	return p.Capabilities.Roots != nil
}
