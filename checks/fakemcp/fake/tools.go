package fake

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

var toolNames = []string{
	"echo", "sleep", "whoami", "roots", "sample", "elicit", "progress", "log",
	"count", "env", "big", "die", "forget",
}

// listTools answers tools/list, in pages if so told.
func (s *server) listTools(m message) {
	tools, err := s.tools()
	if err != nil {
		s.fail(m.ID, -32603, err.Error())
		return
	}
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(m.Params, &p)
	from, _ := strconv.Atoi(p.Cursor)
	result := object{}
	if s.endlessPages { // each is the first
		result["nextCursor"] = strconv.Itoa(from + 1)
		from = 0
	}
	if from < 0 || from > len(tools) {
		s.fail(m.ID, -32602, "Invalid cursor")
		return
	}
	tools = tools[from:]
	if s.pageSize > 0 && len(tools) > s.pageSize {
		tools = tools[:s.pageSize]
		result["nextCursor"] = strconv.Itoa(from + s.pageSize)
	}
	result["tools"] = tools
	if isModern(m) {
		result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", 0, "private"
	}
	s.answer(m.ID, result)
}

// isModern reports whether a request is of the era that has no session.
func isModern(m message) bool {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	return p.Meta["io.modelcontextprotocol/protocolVersion"] != nil
}

func (s *server) tools() ([]any, error) {
	s.mu.Lock()
	s.lists++
	n := s.lists
	s.mu.Unlock()
	var list []any
	if s.toolsFile != "" {
		data, err := os.ReadFile(s.toolsFile)
		if err != nil {
			return nil, err
		}
		var raw []json.RawMessage
		if err := json.Unmarshal(data, &raw); err != nil {
			return nil, fmt.Errorf("%s: %w", s.toolsFile, err)
		}
		for _, tool := range raw {
			list = append(list, tool)
		}
		return list, nil
	}
	for _, name := range s.names() {
		list = append(list, tool(name, "fakemcp "+name))
	}
	for i := range s.manyTools {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"name":"more_%d","inputSchema":{"type":"object"}}`, i)))
	}
	if s.changeTools {
		list = append(list, tool(fmt.Sprintf("only_in_list_%d", n), ""))
	}
	if s.badSchema {
		list = append(list, object{
			"name": "näme with spaces/and.dots",
			"inputSchema": object{
				"type":       "object",
				"properties": object{"x": object{"type": []string{"string", "null"}, "$ref": "#/nowhere"}},
				"$defs":      object{},
			},
		})
	}
	return list, nil
}

func (s *server) names() []string {
	names := toolNames
	if s.stateful {
		names = append(names[:len(names):len(names)], "set", "get")
	}
	if s.askMethod != "" {
		names = append(names[:len(names):len(names)], "ask")
	}
	if s.storm != "" {
		names = append(names[:len(names):len(names)], "storm")
	}
	if s.hasDirs() {
		names = append(names[:len(names):len(names)], "dirs")
	}
	return names
}

func (s *server) hasDirs() bool { return len(s.dirsGiven) > 0 || s.rootsReplace }

func tool(name, description string) object {
	return object{
		"name":        name,
		"description": description,
		"inputSchema": object{"type": "object", "properties": object{}},
	}
}
