package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"

	"github.com/dezren39/mcpx/pkg/wire"
)

// mirror is a server that shows what arrives and answers with what it is told:
// every line it reads goes to the record file as it came, and the result of a
// tools/call is the raw bytes of its arguments. An argument member "error"
// makes it the error instead.
func mirror(record string) int {
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
		if out := reflect(bytes.TrimRight(line, "\n")); out != nil {
			if _, err := os.Stdout.Write(out); err != nil {
				return 1
			}
		}
	}
}

func reflect(line []byte) []byte {
	env, err := wire.Scan(line)
	if err != nil || env.Kind != wire.Request {
		return nil
	}
	id := env.Bytes(env.ID)
	switch env.Text(env.Method) {
	case "server/discover":
		return wire.AppendError(nil, id, -32601, "Method not found", nil)
	case "initialize":
		return wire.AppendResult(nil, id, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mirror","version":"1"},"x-unknown":{"kept":[1,2.50,9007199254740993]}}`))
	case "tools/list":
		return wire.AppendResult(nil, id, []byte(`{"tools":[{"name":"mirror","inputSchema":{"type":"object"}}]}`))
	}
	params := env.Bytes(env.Params)
	at, ok := wire.Member(params, "arguments")
	if !ok {
		return wire.AppendResult(nil, id, []byte(`{}`))
	}
	args := params[at.Start:at.End]
	if bad, ok := wire.Member(args, "error"); ok {
		return append(append(append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...), args[bad.Start:bad.End]...), "}\n"...)
	}
	return append(append(append(append([]byte(`{"jsonrpc":"2.0", "result":`), args...), `, "id" : `...), id...), " }\n"...)
}
