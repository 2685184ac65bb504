package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"slices"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dezren39/mcpx/pkg/wire"
)

// mirror is a server that shows what arrives and says what it is told: every
// line it reads goes to the record file as it came; a call is answered with its
// own arguments, or, if they have a member "frame", with the section of that
// name in the archive of frames. A brief one exits when it has answered a call.
func mirror(record, frames string, brief bool) int {
	archive, err := txtar.ParseFile(frames)
	if err != nil {
		return 1
	}
	log, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	defer log.Close()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return 0
		}
		if err != nil {
			return 1
		}
		if _, err := log.Write(line); err != nil {
			return 1
		}
		if out := reflect(bytes.TrimRight(line, "\n"), archive.Files); out != nil {
			if _, err := os.Stdout.Write(out); err != nil {
				return 1
			}
			if brief && bytes.Contains(line, []byte(`"tools/call"`)) {
				return 0
			}
		}
	}
}

func reflect(line []byte, frames []txtar.File) []byte {
	env, err := wire.Scan(line)
	if err != nil || env.Kind != wire.Request {
		return nil
	}
	id := env.Bytes(env.ID)
	switch env.Text(env.Method) {
	case "server/discover":
		if os.Args[len(os.Args)-1] != "modern" { // a legacy server that does not know it
			return wire.AppendError(nil, id, -32601, "Method not found", nil)
		}
		return wire.AppendResult(nil, id, []byte(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`))
	case "initialize":
		return wire.AppendResult(nil, id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"mirror","version":"1"},"x-unknown":{"kept":[1,2.50,9007199254740993]}}`))
	case "tools/list":
		return wire.AppendResult(nil, id, []byte(`{"tools":[{"name":"mirror","inputSchema":{"type":"object"}}]}`))
	}
	args := []byte("{}")
	params := env.Bytes(env.Params)
	if at, ok := wire.Member(params, "arguments"); ok {
		args = params[at.Start:at.End]
	}
	at, ok := wire.Member(args, "frame")
	if !ok {
		return wire.AppendResult(nil, id, args)
	}
	name, _ := wire.Text(args[at.Start:at.End])
	i := slices.IndexFunc(frames, func(f txtar.File) bool { return f.Name == name })
	out := bytes.ReplaceAll(frames[i].Data, []byte(`"@token"`), env.Bytes(env.ProgressToken))
	if bytes.Contains(out, []byte(`"@id"`)) {
		return bytes.ReplaceAll(out, []byte(`"@id"`), id)
	}
	return append(out, wire.AppendResult(nil, id, []byte("{}"))...)
}
