// Command fakemcp is a small stdio MCP server that misbehaves on request, for
// tests of a pool that must survive it. Package fake is the server.
package main

import (
	"os"

	"github.com/dezren39/mcpx/checks/fakemcp/fake"
)

func main() {
	os.Exit(fake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
