package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/BurntSushi/toml"

	"github.com/dezren39/mcpx/pkg/config"
)

// maxBrackets bounds nesting in TOML, whose parser recurses: a project's file is
// read before anybody trusts it.
const maxBrackets = 10_000

// parseObject reads a JSON or JSONC file that must be one object. Hosts create
// theirs empty now and then, which says as little as "{}".
func parseObject(file string, data []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	plain, p := config.Standard(file, data)
	if p != nil {
		return nil, *p
	}
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, config.Problem{File: file, Line: 1, Col: 1, Msg: "is not an object", Hint: "look at the file"}
	}
	return doc, nil
}

func parseTOML(file string, data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxBrackets {
		return nil, config.Problem{File: file, Msg: "has more brackets than any settings file", Hint: "look at the file"}
	}
	var doc map[string]any
	err := toml.Unmarshal(data, &doc)
	if err == nil {
		return doc, nil
	}
	p := config.Problem{File: file, Msg: "is not TOML", Hint: "mend the syntax: the host does not start with it either"}
	if at, ok := errors.AsType[toml.ParseError](err); ok {
		p.Line, p.Col, p.Msg = at.Position.Line, max(1, at.Position.Col), at.Message
		if p.Msg == "" {
			p.Msg = "is not TOML"
		}
	}
	return nil, p
}
