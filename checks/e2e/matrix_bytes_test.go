package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// bytesCell is a pair of eras, alone or under one roof, seen byte by byte: a host
// that types its lines, and the mirror.
type bytesCell struct {
	t      *testing.T
	h      *rig.Host
	record string
	meta   string // of each request, with a comma before; "" in the legacy era
	tool   string
}

// ask sends a request with members of params and returns the line that answers it.
func (c *bytesCell) ask(id, method, params string) rig.Message {
	c.t.Helper()
	answer := c.h.Expect(id)
	c.h.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, strings.TrimPrefix(params+c.meta, ",")))
	return c.h.Await(answer, method)
}

func (c *bytesCell) call(id, arguments string) rig.Message {
	c.t.Helper()
	return c.ask(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, c.tool, arguments))
}

func (c *bytesCell) arrived(what string) error {
	return wants(len(recorded(c.t, c.record, what)) > 0, "the server did not get %s", what)
}

// byteProbes are those of the probes that are about bytes.
var byteProbes = []struct {
	name string
	try  func(c *bytesCell) error
}{
	{"30 ids keep type and value", func(c *bytesCell) error {
		for _, id := range []string{`1`, `"1"`, `"01"`, `9007199254740993`, `-5`, `"\u00e9"`} {
			got := c.call(id, `{}`)
			if string(got.ID) != id {
				return fmt.Errorf("%s came back as %s", id, got.ID)
			}
		}
		return nil
	}},
	{"31 unknown methods", func(c *bytesCell) error {
		got := c.ask(`"v"`, "vendor/ask", `"x":1.50`)
		if got.Error != nil {
			return fmt.Errorf("answered %s", got.Line)
		}
		return c.arrived(`"method":"vendor/ask"`)
	}},
	{"32 unknown notifications", func(c *bytesCell) error {
		c.h.Send(`{"jsonrpc":"2.0","method":"notifications/vendor","params":{"y":2.50}}`)
		c.call(`"after"`, `{}`) // it comes behind it
		return c.arrived(`{"jsonrpc":"2.0","method":"notifications/vendor","params":{"y":2.50}}`)
	}},
	{"33 unknown fields and key order", func(c *bytesCell) error {
		const odd = `{"z":1.50,"a":9007199254740993,"b" : [ ],"\u0063":"\u003c"}`
		got := c.call(`"odd"`, odd)
		if !bytes.Contains(got.Line, []byte(strings.Trim(odd, "{}"))) {
			return fmt.Errorf("answered %s", got.Line)
		}
		return c.arrived(odd)
	}},
	{"34 error data", func(c *bytesCell) error {
		got := c.call(`"err"`, `{"frame":"an error with data"}`)
		return wants(bytes.Contains(got.Line, []byte(`"error":{"code":-31999,"message":"no \u0041","data":{"deep":[1.0,9007199254740993]}}`)), "answered %s", got.Line)
	}},
}

// TestMatrixOfBytes is the table of what arrives as it was sent, in each pair of
// eras.
func TestMatrixOfBytes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	frames, err := filepath.Abs("../../pkg/wire/testdata/server.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, roof := range []bool{false, true} {
		for _, host := range []string{"legacy", "modern"} {
			for _, server := range []string{"legacy", "modern"} {
				t.Run(fmt.Sprintf("%s host, %s server, roof %v", host, server, roof), func(t *testing.T) {
					c := &bytesCell{t: t, record: filepath.Join(t.TempDir(), "record"), tool: "mirror"}
					r := rig.New(t, mcpx, fmt.Sprintf(`{"mcpServers": {"mirror": {"command": %q, "args": ["mirror", %q, %q, %[4]q], "mcpx": {"protocol": %[4]q}}}}`, self, c.record, frames, server))
					var args []string
					if roof {
						c.tool = "mirror__mirror"
					} else {
						args = []string{"mirror"}
					}
					c.h = r.Connect(r.Home, args...)
					if host == "legacy" {
						c.h.Open()
					} else {
						c.meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
					}
					if got := c.ask(`"list"`, "tools/list", ""); !bytes.Contains(got.Line, []byte(c.tool)) {
						t.Fatalf("the list: %s", got.Line)
					}
					for _, p := range byteProbes {
						if err := p.try(c); err != nil {
							t.Errorf("%s: %v", p.name, err)
						}
					}
				})
			}
		}
	}
}
