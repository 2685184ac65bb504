package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
)

// maxArguments is the most that is read of arguments, in bytes.
const maxArguments = 32 << 20

func callCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "call", Usage: "call a tool, as a host in this directory would (JSON, - or @FILE)", ArgsUsage: "SERVER TOOL [JSON]",
		Category: use, Description: "mcpx call gopls go_search '{\"query\": \"Handler\"}'\n" +
			"jq -n '{query: \"Handler\"}' | mcpx call gopls go_search -",
		Flags: append(callerFlags(), jsonFlag(), runtimeDirFlag()),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := takes(c, 2, 3); err != nil {
				return err
			}
			server, tool := c.Args().Get(0), c.Args().Get(1)
			if server == "" || tool == "" {
				return misuse("usage: "+usageLine(c), "call: an empty name")
			}
			arguments, err := p.arguments(c.Args().Get(2))
			if err != nil {
				return err
			}
			result, err := p.call(ctx, c, server, tool, arguments)
			if err != nil {
				return err
			}
			return p.toolResult(result, server, tool, c.Bool("json"))
		},
	}
}

// call shows on a terminal that, and how, it goes on.
func (p *program) call(ctx context.Context, c *cli.Command, server, tool string, arguments []byte) ([]byte, error) {
	moving := p.startProgress()
	defer moving.end()
	what := server + " " + tool
	moving.show(what)
	conn, err := p.join(ctx, c, server, func(params []byte) { moving.show(what + progressText(params)) })
	if err != nil {
		return nil, refused(err, server, "")
	}
	defer conn.Close()
	result, err := conn.Call(ctx, tool, arguments)
	if errors.Is(err, context.Canceled) {
		return nil, &failure{msg: fmt.Sprintf("%s: stopped; the server is told to give up", what)}
	}
	if err != nil {
		return nil, refused(err, server, tool)
	}
	return result, nil
}

// arguments are those named on the command line, as one line of JSON.
func (p *program) arguments(from string) ([]byte, error) {
	var data []byte
	var err error
	where := "the arguments"
	switch path, isFile := strings.CutPrefix(from, "@"); {
	case from == "":
		return []byte("{}"), nil
	case from == "-":
		where = "stdin"
		data, err = readMost(p.stdin)
	case isFile:
		where = path
		data, err = readRegular(path, maxArguments)
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
	default:
		data = []byte(from)
	}
	if err != nil {
		f := &failure{msg: fmt.Sprintf("call: %s: %v", where, err)}
		if from != "-" {
			f.hint = "@FILE is a file, and what a pipe gives is read with -"
		}
		return nil, f
	}
	return oneObject(where, data)
}

func readMost(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxArguments+1))
	if err == nil && len(data) > maxArguments {
		return nil, fmt.Errorf("larger than %d MiB", maxArguments>>20)
	}
	return data, err
}

// oneObject puts a JSON object on one line; numbers, names and their order stay.
func oneObject(where string, data []byte) ([]byte, error) {
	const hint = `a tool takes an object, such as '{"name": "value"}'`
	var line bytes.Buffer
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, misuse(hint, "call: %s: not JSON at byte %d: %v", where, bad.Offset, err)
	}
	if err = errors.Join(err, json.Compact(&line, data)); err != nil {
		return nil, err
	}
	switch {
	case !utf8.Valid(data):
		return nil, misuse("", "call: %s: not UTF-8", where)
	case line.Bytes()[0] != '{':
		return nil, misuse(hint, "call: %s: not a JSON object", where)
	}
	return line.Bytes(), nil
}

// progressText is what a server says of how far it is. Pure.
func progressText(params []byte) string {
	var q struct {
		Progress json.Number `json:"progress"`
		Total    json.Number `json:"total"`
		Message  string      `json:"message"`
	}
	if json.Unmarshal(params, &q) != nil {
		return ""
	}
	text := ""
	if q.Progress != "" {
		text = "  " + string(q.Progress)
		if q.Total != "" {
			text += "/" + string(q.Total)
		}
	}
	if q.Message != "" {
		text += "  " + q.Message
	}
	return text
}

// toolResult prints what a tool gave: its text, and a line for all else.
func (p *program) toolResult(result []byte, server, tool string, whole bool) error {
	content, failed, err := readResult(result)
	if err != nil {
		return &failure{msg: fmt.Sprintf("%s %s: %v", server, tool, err), hint: "see what came: --json"}
	}
	if whole {
		err = p.out().rawJSON(result)
	} else {
		err = p.out().text(strings.Join(content, "\n"))
	}
	if err == nil && failed {
		return exitCode(1)
	}
	return err
}
