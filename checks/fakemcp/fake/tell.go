package fake

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tell is for the tools that say what the server sees, or ask the client.
func (s *server) tell(p params) (string, bool) {
	text := p.Arguments.Text
	switch p.Name {
	case "whoami":
		return s.whoami(), true
	case "env":
		return os.Getenv(text), true
	case "roots":
		return s.ask("roots/list", nil), true
	case "dirs":
		return s.allowed(), s.hasDirs()
	case "sample":
		return s.ask("sampling/createMessage", object{
			"messages":  []object{{"role": "user", "content": object{"type": "text", "text": text}}},
			"maxTokens": 10,
		}), true
	case "elicit":
		return s.ask("elicitation/create", object{
			"message":         "say " + text,
			"requestedSchema": object{"type": "object", "properties": object{}},
		}), true
	}
	return "", false
}

// whoami is a JSON object of all that tells one process from another. roots is
// the answer to roots/list, null when the client offers none; env is names only.
func (s *server) whoami() string {
	cwd, _ := os.Getwd()
	exe, _ := os.Executable()
	roots := json.RawMessage("null")
	if s.offersRoots() {
		if answer := s.ask("roots/list", nil); json.Valid([]byte(answer)) {
			roots = json.RawMessage(answer)
		}
	}
	s.mu.Lock()
	handshake := s.handshake
	s.mu.Unlock()
	b, _ := json.Marshal(object{
		"pid":        os.Getpid(),
		"ppid":       os.Getppid(),
		"pgid":       syscall.Getpgrp(),
		"cwd":        cwd,
		"pwd":        os.Getenv("PWD"),
		"argv":       s.argv,
		"exe":        filepath.Base(exe),
		"up_ms":      time.Since(s.began).Milliseconds(),
		"env":        environNames(),
		"roots":      roots,
		"initialize": handshake,
	})
	return string(b)
}

func environNames() []string {
	var names []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *server) allowed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, _ := json.Marshal(s.dirs)
	return string(b)
}

// replaceDirs is the habit of file servers: the client's roots become the
// allowed directories, and those of the command line are dropped (report C10).
func (s *server) replaceDirs() {
	var result struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	if json.Unmarshal([]byte(s.ask("roots/list", nil)), &result) != nil || len(result.Roots) == 0 {
		return
	}
	var dirs []string
	for _, root := range result.Roots {
		if u, err := url.Parse(root.URI); err == nil {
			dirs = append(dirs, u.Path)
		}
	}
	s.mu.Lock()
	s.dirs = dirs
	s.mu.Unlock()
	s.note("dirs", dirs)
}
