//lint:file-ignore SA1019 what is deprecated is passed on for as long as it is asked for

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dezren39/mcpx/checks/rig"
)

// cell is one pair of eras, alone or under one roof: a real client behind mcpx,
// and a real server.
type cell struct {
	t            *testing.T
	r            *rig.Rig
	host, server string // eras
	roof         bool
	dir          string

	*mcp.ClientSession
	events chan string
}

func (c *cell) name(item string) string {
	if c.roof {
		return "rich__" + item
	}
	return item
}

// open connects one more session of the cell's kind, in dir.
func (c *cell) open(dir, session string) *cell {
	o := *c
	o.dir, o.events = dir, make(chan string, 1000)
	tell := func(format string, args ...any) { o.events <- fmt.Sprintf(format, args...) }
	client := mcp.NewClient(&mcp.Implementation{Name: "host-" + session, Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			tell("asked %s", req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"who": "me"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "sampled"}, Model: "m", Role: "assistant"}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			tell("progress %v %v", req.Params.ProgressToken, req.Params.Progress)
		},
		LoggingMessageHandler:      func(_ context.Context, req *mcp.LoggingMessageRequest) { tell("log %v", req.Params.Data) },
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { tell("tools changed") },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { tell("prompts changed") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { tell("resources changed") },
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			tell("updated %s", req.Params.URI)
		},
	})
	client.AddRoots(&mcp.Root{URI: "file://" + dir})
	args := []string{"connect", "--session", session}
	if !c.roof {
		args = append(args, "rich")
	}
	cmd := exec.Command(c.r.Bin, args...)
	cmd.Env, cmd.Dir = c.r.Env, dir
	version := "2025-11-25"
	if c.host == "modern" {
		version = ""
	}
	s, err := client.Connect(c.t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	o.ClientSession = s
	return &o
}

// saw waits until the host hears exactly each of what, in any order.
func (c *cell) saw(what ...string) error {
	heard := []string{}
	for len(what) > 0 {
		select {
		case got := <-c.events:
			if i := slices.Index(what, got); i >= 0 {
				what = slices.Delete(what, i, i+1)
			} else {
				heard = append(heard, got)
			}
		case <-time.After(5 * time.Second):
			return fmt.Errorf("%q was not heard, but %q", what, heard)
		}
	}
	return nil
}

func (c *cell) call(tool string) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	p := &mcp.CallToolParams{Name: c.name(tool), Arguments: map[string]any{}}
	p.SetProgressToken("own")
	return c.CallTool(ctx, p)
}

func (c *cell) text(tool string) (string, error) {
	res, err := c.call(tool)
	if err != nil {
		return "", err
	}
	if len(res.Content) == 0 {
		return "", fmt.Errorf("no content in %+v", res)
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

// holds is for probes whose answer is a text.
func (c *cell) holds(tool, want string) error {
	got, err := c.text(tool)
	if err == nil && !strings.Contains(got, want) {
		err = fmt.Errorf("%s: got %.200q, want %q", tool, got, want)
	}
	return err
}

func (c *cell) tool(name string) (*mcp.Tool, error) {
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			return nil, err
		}
		if tool.Name == c.name(name) {
			return tool, nil
		}
	}
	return nil, fmt.Errorf("no tool %s", c.name(name))
}

// cannot are the cells that the protocol does not allow, with its reason.
var cannot = map[string]string{
	"28 the client's name, legacy server": "one handshake for all who share it",
}

// TestMatrix is the table of what survives mcpx, in each pair of eras.
func TestMatrix(t *testing.T) {
	type column struct {
		host, server string
		roof         bool
	}
	var columns []column
	for _, roof := range []bool{false, true} {
		for _, host := range []string{"legacy", "modern"} {
			for _, server := range []string{"legacy", "modern"} {
				columns = append(columns, column{host, server, roof})
			}
		}
	}
	results := make([][]string, len(probes))
	for _, col := range columns {
		t.Run(fmt.Sprintf("%s host, %s server, roof %v", col.host, col.server, col.roof), func(t *testing.T) {
			r := rig.New(t, mcpx, `{"mcpServers": {`+strings.Replace(rich(t, "rich", `, "scope": "cwd", "serverRequests": "attribute"`), `"legacy"`, fmt.Sprintf("%q", col.server), 1)+`}}`)
			dir, _ := r.Checkouts()
			c := (&cell{t: t, r: r, host: col.host, server: col.server, roof: col.roof}).open(dir, "own")
			for i, p := range probes {
				err := p.try(c)
				why := cannot[p.name+", "+col.server+" server"]
				switch {
				case err == nil && why == "":
					results[i] = append(results[i], "yes")
				case err != nil && why != "":
					results[i] = append(results[i], "no")
				case err == nil:
					t.Errorf("%s: yes, although %s", p.name, why)
				default:
					results[i] = append(results[i], "NO")
					t.Errorf("%s: %v", p.name, err)
				}
			}
		})
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-40s", "host>server")
	for _, col := range columns {
		fmt.Fprintf(&table, " %s>%s%s", col.host[:3], col.server[:3], map[bool]string{true: "/roof"}[col.roof])
	}
	for i, p := range probes {
		fmt.Fprintf(&table, "\n%-40s", p.name)
		for j, got := range results[i] {
			fmt.Fprintf(&table, " %-*s", 7+map[bool]int{true: 5}[columns[j].roof], got)
		}
	}
	t.Logf("\n%s", table.String())
}
